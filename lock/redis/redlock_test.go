package redis_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"rushgate/internal/testenv"
	"rushgate/lock"
	"rushgate/lock/locktest"
	"rushgate/lock/redis"
)

// masters are three Redis that know nothing of each other.
func masters(t *testing.T) []*testenv.RedisServer {
	return []*testenv.RedisServer{testenv.Redis(t), testenv.Redis(t), testenv.Redis(t)}
}

// redlock waits for a server that is away no longer than it is told.
func redlock(tb testing.TB, servers []*testenv.RedisServer, opts redis.Options, patient time.Duration) (*lock.Redlock, []*locktest.Server) {
	tb.Helper()
	var backends []lock.Backend
	var known []*locktest.Server
	for _, s := range servers {
		known = append(known, locktest.NewServer(backend(tb, s.Addr, opts)))
		backends = append(backends, known[len(known)-1])
	}
	r, err := lock.NewRedlock(backends, lock.RedlockOptions{Timeout: patient})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { r.Close() })
	return r, known
}

func TestRedlock(t *testing.T) {
	t.Parallel() // it waits as much as it works
	three := masters(t)
	var raw []rueidis.Client
	for _, s := range three {
		raw = append(raw, client(t, s.Addr))
	}
	const prefix = "redlock:"
	servers := map[lock.Backend][]*locktest.Server{}
	locktest.Run(t, locktest.Factory{Quorum: true,
		New: func(tb testing.TB) lock.Backend {
			for _, c := range raw {
				if err := c.Do(tb.Context(), c.B().Flushall().Build()).Error(); err != nil {
					tb.Fatal(err)
				}
			}
			r, known := redlock(tb, three, redis.Options{Prefix: prefix}, generous) // all are there, however busy they are
			servers[r] = known
			return r
		},
		Servers: func(b lock.Backend) []*locktest.Server { return servers[b] },
		Expire: func(tb testing.TB, _ lock.Backend, key, owner string) {
			for _, c := range raw {
				expire(tb, c, prefix+"{"+key+"}", owner)
			}
		},
		Where: func(lock.Backend) string {
			return strings.Join([]string{prefix, three[0].Addr, three[1].Addr, three[2].Addr}, " ")
		},
	})
}

// A majority is enough, whichever it is, and fences grow from one to the other.
func TestRedlockLosesOneServerAfterTheOther(t *testing.T) {
	t.Parallel() // it waits more than it works
	three := masters(t)
	r, _ := redlock(t, three, fresh(), 1400*time.Millisecond)
	l := locker(t, r, lock.Options{Lease: 6 * time.Second})
	var last uint64
	for range 2 {
		for i, s := range three {
			if err := s.Pause(); err != nil {
				t.Fatal(err)
			}
			h := locktest.Take(t, l, "k")
			if h.Fence() <= last {
				t.Fatalf("without server %d: a fence of %d after %d", i, h.Fence(), last)
			}
			last = h.Fence()
			locktest.Renewed(t, h)
			locktest.Unlock(t, h)
			if err := s.Resume(); err != nil {
				t.Fatal(err)
			}
		}
	}
	h := locktest.Take(t, l, "k")
	three[0].Kill()
	three[2].Kill()
	locktest.Lost(t, h)
	if _, err := l.TryLock(t.Context(), "k"); !errors.Is(err, lock.ErrUnavailable) {
		t.Fatal(err)
	}
	if err := three[0].Start(); err != nil {
		t.Fatal(err)
	}
	locktest.After(t, h, l)
}
