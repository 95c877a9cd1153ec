package redis_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"go.uber.org/goleak"

	"rushgate/internal/testenv"
	"rushgate/lock"
	"rushgate/lock/redis"
)

// server is the Redis of all tests that do it no harm.
var server = testenv.SharedRedis()

// prefixes keeps the tests apart.
var prefixes atomic.Int64

func TestMain(m *testing.M) { goleak.VerifyTestMain(server.Around(m)) }

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
	l, err := lock.New(b, opts)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { l.Close() })
	return l
}

func TestSmoke(t *testing.T) {
	b := backend(t, server.Server(t).Addr, fresh())
	l, m := locker(t, b, lock.Options{}), locker(t, b, lock.Options{})
	ctx := context.Background()
	var inside atomic.Int64
	var last uint64
	var all sync.WaitGroup
	began := time.Now()
	for i := range 8 {
		all.Go(func() {
			for range 100 {
				who := l
				if i%2 == 0 {
					who = m
				}
				h, err := who.Lock(ctx, "k")
				if err != nil {
					t.Error(err)
					return
				}
				if inside.Add(1) != 1 {
					t.Error("two inside")
				}
				if h.Fence() <= last {
					t.Error("fence", h.Fence(), last)
				}
				last = h.Fence()
				inside.Add(-1)
				if err := h.Unlock(ctx); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	t.Log(time.Since(began) / 800)
}
