package oncetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"rushgate/once"
)

const (
	nodes   = 3
	callers = 16 // of each node
	keys    = 12
)

// testCrowd: callers of several nodes want the same few things at the same time,
// and many attempts fail. Of each key, one completion is recorded, and all get it.
func testCrowd(t *testing.T, f Factory) {
	stores := f.New(t, nodes)
	var all sync.WaitGroup
	var mu sync.Mutex // guards what follows
	done := map[string][]once.Result{}
	completed := map[string]int{}
	running := map[string]int{}
	broken := errors.New("broken")
	work := func(seed uint64) once.Work {
		chance := rand.New(rand.NewPCG(seed, 1))
		return func(_ context.Context, a once.Attempt) ([]byte, error) {
			mu.Lock()
			defer mu.Unlock()
			if running[a.Key]++; running[a.Key] > 1 {
				t.Errorf("%s is run twice at a time", a.Key)
			}
			defer func() { running[a.Key]-- }()
			if chance.IntN(3) > 0 {
				return nil, broken
			}
			completed[a.Key]++
			return fmt.Appendf(nil, "%s by %d", a.Key, seed), nil
		}
	}
	for n, s := range stores {
		o := node(t, s)
		for c := range callers {
			seed := uint64(n*callers + c)
			all.Go(func() {
				for k := range keys {
					key := fmt.Sprintf("key-%d", (k+c)%keys)
					for {
						r, err := o.Do(t.Context(), key, work(seed*keys+uint64(k)))
						if errors.Is(err, broken) {
							continue
						}
						if err != nil {
							t.Error(err)
							return
						}
						mu.Lock()
						done[key] = append(done[key], r)
						mu.Unlock()
						break
					}
				}
			})
		}
	}
	all.Wait()
	for k := range keys {
		checkCrowd(t, done[fmt.Sprintf("key-%d", k)], completed[fmt.Sprintf("key-%d", k)])
	}
}

func checkCrowd(t *testing.T, got []once.Result, completed int) {
	t.Helper()
	first := 0
	for _, r := range got {
		if string(r.Value) != string(got[0].Value) || r.Token != got[0].Token || r.Number != got[0].Number {
			t.Errorf("one got %q of token %d, another %q of token %d", r.Value, r.Token, got[0].Value, got[0].Token)
		}
		if !r.Replayed {
			first++
		}
	}
	if len(got) != nodes*callers || completed != 1 || first != 1 {
		t.Errorf("%d results of %d callers, %d completions, %d of them told as first", len(got), nodes*callers, completed, first)
	}
}
