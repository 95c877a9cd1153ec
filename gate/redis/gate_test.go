package redis_test

import (
	"flag"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"rushgate"
	"rushgate/gate/gatetest"
	"rushgate/gate/redis"
	"rushgate/internal/testenv"
)

// server is the Redis of all tests that do it no harm.
var server = testenv.SharedRedis()

// prefixes keeps the tests apart.
var prefixes atomic.Int64

// The client of a cluster closes the connections of a node that is gone after
// five seconds, in a goroutine that nobody can wait for. The random histories are
// bounded: they are played on gates of three kinds.
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", "40"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(server.Around(m), goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*clusterClient)._refresh.func2"))
}

// fresh returns options with a prefix of its own, for a gate that gives nobody up: on
// a busy machine, a server or a test may stand still for seconds.
func fresh() redis.Options {
	return redis.Options{Prefix: fmt.Sprintf("t%d:", prefixes.Add(1)), Poll: 100 * time.Millisecond,
		Timeout: 20 * time.Second, Patience: 30 * time.Second, LoadLease: time.Minute}
}

// hasty makes a gate give up after a while: for what has to fail.
func hasty(opts redis.Options) redis.Options {
	opts.Timeout, opts.Patience = time.Second, 3*time.Second
	return opts
}

// factory makes gates on one Redis.
func factory() gatetest.Factory {
	return gatetest.Factory{OwnClock: true, New: func(tb testing.TB) rushgate.Gate {
		return open(tb, server.Server(tb).URL(), fresh())
	}}
}

// nodes makes gates of several nodes on one Redis.
func nodes(tb testing.TB, n int) []rushgate.Shared {
	opts := fresh()
	gates := make([]rushgate.Shared, n)
	for i := range gates {
		gates[i] = open(tb, server.Server(tb).URL(), opts)
	}
	return gates
}

// open returns a gate; the caller closes it.
func open(tb testing.TB, url string, opts redis.Options) *redis.Gate {
	tb.Helper()
	g, err := redis.Open(tb.Context(), url, opts)
	if err != nil {
		tb.Fatal(err)
	}
	return g
}

func TestGate(t *testing.T) { gatetest.Run(t, factory()) }

func TestShared(t *testing.T) { gatetest.RunShared(t, gatetest.SharedFactory{New: nodes}) }
