package redis_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"rushgate"
	"rushgate/gate/gatetest"
	"rushgate/gate/redis"
	"rushgate/internal/testenv"
)

// factory makes gates on one Redis, each with a prefix of its own.
func factory(tb testing.TB) gatetest.Factory {
	addr := testenv.Redis(tb)
	var n atomic.Int64
	return gatetest.Factory{OwnClock: true, New: func(tb testing.TB) rushgate.Gate {
		return open(tb, addr, redis.Options{Prefix: fmt.Sprintf("t%d:", n.Add(1))})
	}}
}

// open returns a gate; the caller closes it.
func open(tb testing.TB, addr string, opts redis.Options) *redis.Gate {
	tb.Helper()
	g, err := redis.Open(tb.Context(), "redis://"+addr, opts)
	if err != nil {
		tb.Fatal(err)
	}
	return g
}

func TestGate(t *testing.T) { gatetest.Run(t, factory(t)) }
