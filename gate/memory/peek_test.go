package memory_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"rushgate"
)

func TestPeekAllocatesNothing(t *testing.T) {
	g, _ := gateWith(t, 1)
	for _, want := range []rushgate.Code{rushgate.Granted, rushgate.SoldOut} {
		a := rushgate.Ask{ID: 2, Sale: "sale", Item: "a", User: "u", Quantity: 1, Key: "k"}
		if n := testing.AllocsPerRun(100, func() {
			if code := g.Peek(time.Time{}, &a); code != want {
				t.Fatalf("got %s, want %s", code, want)
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations", want, n)
		}
		decide(t, g, 1, "first")
	}
}

// BenchmarkPeekBesideClaims measures refusals while batches of 256 that are
// refused too keep the lock busy: the worst that a sold-out sale can bring.
func BenchmarkPeekBesideClaims(b *testing.B) {
	g := factory().New(b)
	snap := rushgate.Snapshot{Sale: &rushgate.Sale{ID: "sale", PerUser: 1}, Stock: []rushgate.Stock{{Item: "a"}},
		Claims: func(func(rushgate.Claim, error) bool) {}}
	if err := g.Load(b.Context(), snap); err != nil {
		b.Fatal(err)
	}
	asks, out := make([]rushgate.Ask, 256), make([]rushgate.Decision, 256)
	for i := range asks {
		asks[i] = rushgate.Ask{ID: rushgate.ID(i + 1), Sale: "sale", Item: "a", User: fmt.Sprint("u", i), Quantity: 1}
	}
	over := make(chan struct{})
	var desk sync.WaitGroup
	desk.Go(func() {
		for {
			select {
			case <-over:
				return
			default:
				if err := g.Claim(b.Context(), time.Time{}, asks, out); err != nil {
					b.Error(err)
				}
			}
		}
	})
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		a := asks[0]
		for pb.Next() {
			g.Peek(time.Time{}, &a)
		}
	})
	b.StopTimer()
	close(over)
	desk.Wait()
}
