package redis_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/redis/rueidis"
	"go.uber.org/goleak"

	"rushgate/internal/testenv"
	"rushgate/lock"
	"rushgate/lock/locktest"
	"rushgate/lock/redis"
)

// server is the Redis of all tests that do it no harm.
var server = testenv.SharedRedis()

// prefixes keeps the tests apart.
var prefixes atomic.Int64

func TestMain(m *testing.M) {
	if where := locktest.Child(); where != "" {
		os.Exit(childMain(where))
	}
	if err := flag.Set("rapid.checks", "60"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(server.Around(m))
}

func fresh() redis.Options { return redis.Options{Prefix: fmt.Sprintf("t%d:", prefixes.Add(1))} }

// client returns a client that ends with the test.
func client(tb testing.TB, addr string) rueidis.Client {
	tb.Helper()
	c, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{addr}, DisableCache: true})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(c.Close)
	return c
}

func backend(tb testing.TB, addr string, opts redis.Options) *redis.Backend {
	tb.Helper()
	b, err := redis.New(client(tb, addr), opts)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

func locker(tb testing.TB, b lock.Backend, opts lock.Options) *lock.Locker {
	tb.Helper()
	l, err := lock.New(b, locktest.InTime(opts))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { l.Close() })
	return l
}

// factory makes backends on one Redis.
func factory(t *testing.T) locktest.Factory {
	raw := client(t, server.Server(t).Addr)
	prefix := map[lock.Backend]string{}
	return locktest.Factory{
		New: func(tb testing.TB) lock.Backend {
			opts := fresh()
			b := backend(tb, server.Server(tb).Addr, opts)
			prefix[b] = opts.Prefix
			return b
		},
		Expire: func(tb testing.TB, b lock.Backend, key, owner string) {
			expire(tb, raw, prefix[b]+"{"+key+"}", owner)
		},
		Wire:  wire,
		Where: func(b lock.Backend) string { return prefix[b] + " " + server.Server(t).Addr },
	}
}

// expire ends the lease of a claim: of one that is alone as Redis would, and of
// others by writing that it was long ago.
func expire(tb testing.TB, c rueidis.Client, key, owner string) {
	tb.Helper()
	alone, err := c.Do(tb.Context(), c.B().Get().Key(key).Build()).ToString()
	if err != nil {
		tb.Fatal(err)
	}
	over := c.B().Del().Key(key).Build()
	if alone == "shared" {
		claims, field := key+":claims", "o:"+owner
		entry, err := c.Do(tb.Context(), c.B().Hget().Key(claims).Field(field).Build()).ToString()
		if err != nil {
			tb.Fatal(err)
		}
		words := strings.SplitN(entry, " ", 4)
		words[2] = "1"
		over = c.B().Hset().Key(claims).FieldValue().FieldValue(field, strings.Join(words, " ")).FieldValue("first", "1").Build()
	}
	if err := c.Do(tb.Context(), over).Error(); err != nil {
		tb.Fatal(err)
	}
}

// wire puts a network in front of the Redis.
func wire(tb testing.TB) locktest.Wire {
	addr, opts := server.Server(tb).Addr, fresh()
	proxy := testenv.NewProxy(tb, addr)
	return locktest.Wire{Through: backend(tb, proxy.Addr, opts), Beside: backend(tb, addr, opts),
		Cut:  func() { proxy.Cut() },
		Hold: func() { proxy.Hold(testenv.ToServer) },
		Heal: proxy.Heal,
		Lose: func(toServer, toClient bool) {
			if toServer {
				proxy.Swallow(testenv.ToServer)
			}
			if toClient {
				proxy.Swallow(testenv.ToClient)
			}
		}}
}

func TestRedis(t *testing.T) { locktest.Run(t, factory(t)) }
