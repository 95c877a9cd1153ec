package redis_test

import (
	"flag"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"go.uber.org/goleak"

	"rushgate/internal/testenv"
	"rushgate/limit"
	"rushgate/limit/limittest"
	"rushgate/limit/redis"
)

// server is the Redis of all tests that do it no harm.
var server = testenv.SharedRedis()

// The random histories are bounded: each step is a call.
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", "60"); err != nil {
		panic(err)
	}
	// The client of a cluster closes the connections of a node that is gone
	// after five seconds, in a goroutine that nobody can wait for.
	goleak.VerifyTestMain(server.Around(m), goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*clusterClient)._refresh.func2"))
}

// connect returns a client, which ends with the test.
func connect(tb testing.TB, addrs ...string) rueidis.Client {
	tb.Helper()
	c, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: addrs, DisableCache: true})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(c.Close)
	return c
}

// patient is for machines that are busy with other tests.
func patient() redis.Options { return redis.Options{Slot: "t", Timeout: 20 * time.Second} }

func factory(client rueidis.Client) limittest.Factory {
	return limittest.Factory{
		New: func(tb testing.TB, policy limit.Policy, clock *limittest.Clock) limit.Limiter {
			l, err := redis.New(client, limit.Rule{Name: "test", Policy: policy}, patient())
			if err != nil {
				tb.Fatal(err)
			}
			if clock != nil {
				l.Tell(clock.Micros)
			}
			return l
		},
		NewJoint: func(tb testing.TB, rules []limit.Rule, clock *limittest.Clock) limit.Joint {
			j, err := redis.NewJoint(client, rules, patient())
			if err != nil {
				tb.Fatal(err)
			}
			if clock != nil {
				j.Tell(clock.Micros)
			}
			return j
		},
	}
}

func TestRedis(t *testing.T) { limittest.Run(t, factory(connect(t, server.Server(t).Addr))) }
