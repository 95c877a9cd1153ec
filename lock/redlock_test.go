package lock_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"rushgate/lock"
)

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
