package redis_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"go.uber.org/goleak"

	"rushgate/id"
	"rushgate/id/idtest"
	"rushgate/id/redis"
	"rushgate/internal/testenv"
)

var server = testenv.SharedRedis()

func TestMain(m *testing.M) {
	runChild()
	goleak.VerifyTestMain(server.Around(m))
}

func client(t testing.TB, addr string) rueidis.Client {
	t.Helper()
	c, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{addr}, DisableCache: true, ForceSingleClient: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func open(t testing.TB, c rueidis.Client, name string) *redis.Store {
	t.Helper()
	s, err := redis.New(c, redis.Options{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestStore(t *testing.T) {
	var n atomic.Int64
	idtest.Run(t, func(t testing.TB) idtest.Register {
		name := fmt.Sprintf("register-%d", n.Add(1))
		c := client(t, server.Server(t).Addr)
		return idtest.Register{
			Open: func() id.Store { return open(t, c, name) },
			Forget: func() {
				if err := c.Do(t.Context(), c.B().Del().Key("id:{"+name+"}").Build()).Error(); err != nil {
					t.Error(err)
				}
			},
		}
	})
}

func request(owner string, ttl time.Duration) id.Request {
	return id.Request{Owner: owner, Layout: id.Standard(1), TTL: ttl, ClockMs: time.Now().UnixMilli(), SkewMs: 60_000}
}

// TestAnotherRunOfRedis: a Redis that has been started again may have forgotten
// the last writes, though it has a register: its windows begin a lease later, also
// for an owner whose number somebody else may have had.
func TestAnotherRunOfRedis(t *testing.T) {
	private := testenv.Redis(t, "appendonly yes")
	s := open(t, client(t, private.Addr), "r")
	before, err := s.Acquire(t.Context(), request("a", time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	private.Restart(t)
	c := client(t, private.Addr)
	s = open(t, c, "r")
	if n, err := c.Do(t.Context(), c.B().Exists().Key("id:{r}").Build()).AsInt64(); err != nil || n != 1 {
		t.Fatalf("the register is gone: %v", err)
	}
	renewed, err := s.Renew(t.Context(), before.Number, request("a", time.Minute))
	if err != nil || renewed.FromMs < renewed.NowMs+61_000 {
		t.Errorf("renewed: %+v, %v", renewed, err)
	}
	other, err := s.Acquire(t.Context(), request("b", time.Minute))
	if err != nil || other.FromMs < renewed.NowMs+61_000 {
		t.Errorf("acquired: %+v, %v", other, err)
	}
	again, err := s.Renew(t.Context(), before.Number, request("a", time.Minute))
	if err != nil || again.FromMs != renewed.FromMs {
		t.Errorf("renewed again: %+v, %v", again, err)
	}
}

func TestWrongOptions(t *testing.T) {
	c := client(t, server.Server(t).Addr)
	for _, o := range []redis.Options{{Name: "a b"}, {Name: strings.Repeat("n", 65)}, {Prefix: "{a}"}, {Grace: -1}, {Grace: 3 * time.Hour}} {
		if _, err := redis.New(c, o); err == nil {
			t.Errorf("%+v is taken", o)
		}
	}
	if _, err := redis.New(nil, redis.Options{}); err == nil {
		t.Error("no client is taken")
	}
}
