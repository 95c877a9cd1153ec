package idtest

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"rushgate/id"
)

// windows are all that were ever granted.
type windows struct {
	mu  sync.Mutex
	all []id.Lease
}

func (w *windows) add(l id.Lease) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = append(w.all, l)
}

// check is an error if two owners had one number for the same time.
func (w *windows) check() error {
	w.all = slices.DeleteFunc(w.all, func(l id.Lease) bool { return l.FromMs == l.UntilMs }) // released unused
	slices.SortFunc(w.all, func(a, b id.Lease) int {
		return cmp.Or(cmp.Compare(a.Number, b.Number), cmp.Compare(a.FromMs, b.FromMs))
	})
	for i, b := range w.all {
		for j := i - 1; j >= 0 && w.all[j].Number == b.Number; j-- {
			if a := w.all[j]; a.Owner != b.Owner && a.UntilMs > b.FromMs {
				return fmt.Errorf("number %d: %s had %d to %d, %s %d to %d", a.Number, a.Owner, a.FromMs, a.UntilMs, b.Owner, b.FromMs, b.UntilMs)
			}
		}
	}
	return nil
}

// contention: more owners than numbers take, renew, give back and forget them.
func contention(t *testing.T, r Register) {
	var all windows
	var wg sync.WaitGroup
	for worker := range 6 {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(uint64(worker), 4))
			s := r.Open()
			for range 12 {
				if err := stay(t, s, random, &all); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	if n := len(all.all); n < 72 {
		t.Errorf("only %d windows", n)
	}
	if err := all.check(); err != nil {
		t.Error(err)
	}
}

// stay is one owner's time with a number: some renewals, then it is given back or
// left to run out.
func stay(t *testing.T, s id.Store, random *rand.Rand, granted *windows) error {
	q := request(1, id.MinTTL)
	l, err := s.Acquire(t.Context(), q)
	for ; errors.Is(err, id.ErrNoNumber); l, err = s.Acquire(t.Context(), q) {
		<-time.After(pollEvery)
	}
	used := l.FromMs
	for range random.IntN(4) {
		if err != nil {
			break
		}
		granted.add(l)
		used = l.FromMs + random.Int64N(l.UntilMs-l.FromMs+1)
		l, err = s.Renew(t.Context(), l.Number, q)
	}
	if errors.Is(err, id.ErrLost) {
		return nil
	}
	if err != nil {
		return err
	}
	granted.add(l)
	if random.IntN(3) == 0 {
		return nil // a crash
	}
	// What it used counts from now on, instead of all that was granted.
	if err := s.Release(t.Context(), l.Number, q.Owner, used); err != nil {
		return err
	}
	granted.mu.Lock()
	defer granted.mu.Unlock()
	for i := range granted.all {
		if g := &granted.all[i]; g.Owner == q.Owner {
			g.UntilMs = min(g.UntilMs, max(used, g.FromMs))
		}
	}
	return nil
}

// forgetting: a store that has lost everything gives no window that overlaps one
// that it has forgotten.
func forgetting(t *testing.T, r Register) {
	if r.Forget == nil {
		return
	}
	var all windows
	s := r.Open()
	stale := request(1, id.MinTTL)
	lost := granted(t)(s.Acquire(t.Context(), stale))
	for range 3 {
		for range 2 {
			q := request(1, id.MinTTL)
			l := eventually(t, s, q)
			all.add(l)
			all.add(granted(t)(s.Renew(t.Context(), l.Number, q)))
		}
		// Twice within a lease is more than a store can mend.
		for end := time.Now().Add(2 * id.MinTTL); time.Now().Before(end); {
			if _, err := s.Renew(t.Context(), 0, request(1, id.MinTTL)); !errors.Is(err, id.ErrLost) {
				t.Fatal(err)
			}
		}
		r.Forget()
		if _, err := s.Renew(t.Context(), lost.Number, stale); !errors.Is(err, id.ErrLost) {
			t.Errorf("renewed what was forgotten: %v", err)
		}
	}
	if err := all.check(); err != nil {
		t.Error(err)
	}
}
