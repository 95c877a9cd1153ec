package lock_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"rushgate/lock"
)

// crossing lets one owner's first request pass before the other's.
type crossing struct {
	lock.Backend
	second string
	passed chan struct{}
	once   sync.Once
}

func (x *crossing) Acquire(ctx context.Context, c lock.Claim) lock.Answer {
	if c.Owner == x.second {
		<-x.passed
	}
	a := x.Backend.Acquire(ctx, c)
	if c.Owner != x.second {
		x.once.Do(func() { close(x.passed) })
	}
	return a
}

// Of three servers one is away, and two callers have one of the others each:
// neither may keep it and go on asking.
func TestRedlockSplitWhileAServerIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		away := &mute{Backend: lock.NewMemory()}
		away.dead.Store(true)
		servers := []lock.Backend{
			&crossing{Backend: lock.NewMemory(), second: "b", passed: make(chan struct{})},
			&crossing{Backend: lock.NewMemory(), second: "a", passed: make(chan struct{})},
			away,
		}
		var all sync.WaitGroup
		for _, owner := range []string{"a", "b"} {
			r, err := lock.NewRedlock(servers, lock.RedlockOptions{})
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			l, err := lock.New(r, lock.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			all.Go(func() {
				h, err := l.Lock(t.Context(), "k", lock.As(owner), lock.WithMaxWait(10*time.Second))
				if err != nil {
					t.Error(err)
				} else if err := h.Unlock(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
	})
}

// broken is a server that now and then gives no answer.
type broken struct {
	lock.Backend
	away atomic.Bool
}

func (b *broken) Acquire(ctx context.Context, c lock.Claim) lock.Answer {
	if b.away.Load() {
		return lock.Answer{Err: lock.ErrUnavailable}
	}
	return b.Backend.Acquire(ctx, c)
}

// However many servers are away each time, together the holders never have more
// permits than there are.
func TestPermitsOfARedlock(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		count := rapid.SampledFrom([]int{3, 5}).Draw(rt, "servers")
		limit := rapid.Int64Range(1, 5).Draw(rt, "limit")
		servers, faults := make([]lock.Backend, count), make([]*broken, count)
		for i := range servers {
			faults[i] = &broken{Backend: lock.NewMemory()}
			servers[i] = faults[i]
		}
		r, err := lock.NewRedlock(servers, lock.RedlockOptions{})
		if err != nil {
			rt.Fatal(err)
		}
		defer r.Close()
		var held int64
		for i := range 8 {
			for n, f := range faults {
				f.away.Store(rapid.IntRange(0, 2).Draw(rt, fmt.Sprint("away", i, n)) == 0)
			}
			c := lock.Claim{Key: "k", Owner: fmt.Sprint("o", i), Token: fmt.Sprint("node.", i), Limit: limit, Lease: lock.MaxLease,
				Need: rapid.Int64Range(1, limit).Draw(rt, fmt.Sprint("need", i))}
			if r.Acquire(t.Context(), c).State == lock.Granted {
				held += c.Need
			}
			if held > limit {
				rt.Fatalf("%d permits of %d are held", held, limit)
			}
		}
	})
}
