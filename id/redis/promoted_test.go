package redis_test

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"rushgate/internal/testenv"
)

// follow makes one Redis a replica of another one, and waits until it has its data.
func follow(t *testing.T, c rueidis.Client, master *testenv.RedisServer) {
	t.Helper()
	host, port, err := net.SplitHostPort(master.Addr)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Do(t.Context(), c.B().Arbitrary("REPLICAOF", host, port).Build()).Error(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		info, err := c.Do(ctx, c.B().Info().Section("replication").Build()).ToString()
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(info, "master_link_status:up") {
			return
		}
		<-tick.C
	}
}

func promote(t *testing.T, c rueidis.Client) {
	t.Helper()
	if err := c.Do(t.Context(), c.B().Arbitrary("REPLICAOF", "NO", "ONE").Build()).Error(); err != nil {
		t.Fatal(err)
	}
}

// TestAMasterAgain: a master that was a replica for a while has forgotten its last
// writes, though it was not started again and nobody else has leased meanwhile.
func TestAMasterAgain(t *testing.T) {
	one, two := testenv.Redis(t), testenv.Redis(t)
	c, d := client(t, one.Addr), client(t, two.Addr)
	s := open(t, c, "r")
	follow(t, d, one)
	if _, err := s.Acquire(t.Context(), request("a", time.Minute)); err != nil {
		t.Fatal(err)
	}
	// The register is not new any more.
	if err := c.Do(t.Context(), c.B().Hset().Key("id:{r}").FieldValue().FieldValue("floor", "0").Build()).Error(); err != nil {
		t.Fatal(err)
	}
	if n, err := c.Do(t.Context(), c.B().Wait().Numreplicas(1).Timeout(30_000).Build()).AsInt64(); err != nil || n != 1 {
		t.Fatal(n, err)
	}
	promote(t, d)
	forgotten, err := s.Acquire(t.Context(), request("b", time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	follow(t, c, two)
	promote(t, c)
	next, err := s.Acquire(t.Context(), request("c", time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	if next.Number == forgotten.Number && next.FromMs < forgotten.UntilMs {
		t.Fatalf("two have one number: %+v, %+v", forgotten, next)
	}
}
