package limittest

import (
	"sync"
	"sync/atomic"
	"testing"
)

const (
	callers = 32
	calls   = 30
)

// storm lets many ask for the same keys at the same time, for one unit and for
// several. Exactly the limit is granted.
func storm(t *testing.T, f Factory) {
	keys := newKeys(t)
	for _, policy := range kinds(100) {
		l := f.New(t, policy, nil)
		for _, n := range []int64{1, 3} {
			key := keys.next()
			var granted atomic.Int64
			together(func() {
				for range calls {
					if r, err := l.Take(background(), key, n); err != nil {
						t.Error(err)
					} else if r.Granted {
						granted.Add(n)
					}
				}
			})
			if want := 100 / n * n; granted.Load() != want {
				t.Errorf("%s: %d granted by %d, want %d", policy, granted.Load(), n, want)
			}
		}
	}
}

func together(do func()) {
	var all sync.WaitGroup
	for range callers {
		all.Go(do)
	}
	all.Wait()
}
