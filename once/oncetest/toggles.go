package oncetest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"rushgate/once"
)

func testToggles(t *testing.T, f Factory) {
	stores := f.New(t, 3)
	t.Run("five clicks in a bad network", func(t *testing.T) { t.Parallel(); fiveClicks(t, stores) })
	t.Run("deliveries in any order", func(t *testing.T) { t.Parallel(); anyOrder(t, stores) })
	t.Run("model", func(t *testing.T) { t.Parallel(); togglesModel(t, stores) })
	t.Run("numbers of all sizes", func(t *testing.T) { t.Parallel(); numbers(t, stores) })
}

func togglesOf(tb testing.TB, s once.ToggleStore) *once.Toggles {
	tb.Helper()
	o, err := once.NewToggles(s)
	must(tb, err)
	return o
}

// fiveClicks: follow, unfollow, follow, unfollow, follow; the last arrives
// second, two arrive twice.
func fiveClicks(t *testing.T, stores []Backend) {
	for i, step := range []struct {
		seq  int64
		want once.Standing
	}{
		{1, once.Standing{Verdict: once.Applied, On: true, Seq: 1, Changed: true}},
		{5, once.Standing{Verdict: once.Applied, On: true, Seq: 5}},
		{4, once.Standing{Verdict: once.Late, On: true, Seq: 5}},
		{5, once.Standing{Verdict: once.Repeated, On: true, Seq: 5}},
		{2, once.Standing{Verdict: once.Late, On: true, Seq: 5}},
		{2, once.Standing{Verdict: once.Late, On: true, Seq: 5}},
		{3, once.Standing{Verdict: once.Late, On: true, Seq: 5}},
	} {
		o := togglesOf(t, stores[i%len(stores)])
		got, err := o.Apply(t.Context(), "clicks", once.Intent{Member: "ann", On: step.seq%2 == 1, Seq: step.seq})
		if err != nil || got != step.want {
			t.Fatalf("step %d: %+v, %v; want %+v", i, got, err, step.want)
		}
	}
	if n, err := togglesOf(t, stores[0]).Count(t.Context(), "clicks"); err != nil || n != 1 {
		t.Fatalf("%d followers, %v", n, err)
	}
}

// anyOrder: people click, and each click is delivered up to three times, by any
// node, in any order, all at once. Everybody ends as the last click says.
func anyOrder(t *testing.T, stores []Backend) {
	const people, clicks = 20, 5
	chance := rand.New(rand.NewPCG(rand.Uint64(), 1))
	var deliveries []once.Intent
	want, on := map[string]once.Standing{}, int64(0)
	for p := range people {
		name := anyName(p)
		seq, wish := int64(0), false
		for range 1 + chance.IntN(clicks) {
			seq, wish = seq+1+chance.Int64N(1_000_000), chance.IntN(2) == 0
			for range 1 + chance.IntN(3) {
				deliveries = append(deliveries, once.Intent{Member: name, On: wish, Seq: seq})
			}
		}
		want[name] = once.Standing{On: wish, Seq: seq}
		if wish {
			on++
		}
	}
	chance.Shuffle(len(deliveries), func(i, j int) { deliveries[i], deliveries[j] = deliveries[j], deliveries[i] })
	switched := deliver(t, stores, deliveries)
	for name, w := range want {
		got, err := togglesOf(t, stores[0]).Standing(t.Context(), "any order", name)
		if err != nil || got != w {
			t.Errorf("%q ends as %+v, %v; the last intent was %+v", name, got, err, w)
		}
	}
	if n, err := togglesOf(t, stores[1]).Count(t.Context(), "any order"); err != nil || n != on || n != switched {
		t.Errorf("%d are on, %v; want %d; changes were told that add up to %d", n, err, on, switched)
	}
}

// deliver applies intents, many at a time, and adds up the changes that were told.
func deliver(t *testing.T, stores []Backend, all []once.Intent) int64 {
	var switched atomic.Int64
	var couriers sync.WaitGroup
	for c := range 8 {
		o := togglesOf(t, stores[c%len(stores)])
		couriers.Go(func() {
			for i := c; i < len(all); i += 8 {
				got, err := o.Apply(t.Context(), "any order", all[i])
				if err != nil {
					t.Error(err)
					return
				}
				if got.Changed {
					switched.Add(map[bool]int64{true: 1, false: -1}[got.On])
				}
				if got.Seq < all[i].Seq {
					t.Errorf("after %+v it stands at %+v", all[i], got)
				}
			}
		})
	}
	couriers.Wait()
	return switched.Load()
}

// togglesModel plays random intents one after the other, and holds each answer
// against Standing.Judge.
func togglesModel(t *testing.T, stores []Backend) {
	var plays atomic.Int64
	rapid.Check(t, func(r *rapid.T) {
		set, model := fmt.Sprintf("t%d", plays.Add(1)), map[string]once.Standing{}
		for range rapid.IntRange(1, 12).Draw(r, "intents") {
			o := togglesOf(t, stores[rapid.IntRange(0, len(stores)-1).Draw(r, "node")])
			i := once.Intent{Member: anyName(rapid.IntRange(0, 2).Draw(r, "member")), On: rapid.Bool().Draw(r, "on"),
				Seq: rapid.Int64Range(1, 4).Draw(r, "seq")}
			want := model[i.Member].Judge(i)
			got, err := o.Apply(t.Context(), set, i)
			if err != nil || got != want {
				r.Fatalf("%+v: %+v, %v; want %+v", i, got, err, want)
			}
			model[i.Member] = once.Standing{On: want.On, Seq: want.Seq}
		}
		on := int64(0)
		for _, s := range model {
			if s.On {
				on++
			}
		}
		if n, err := togglesOf(t, stores[0]).Count(t.Context(), set); err != nil || n != on {
			r.Fatalf("count: %d, %v; want %d", n, err, on)
		}
	})
}

// numbers: two that are the same as floating-point numbers, and the ends.
func numbers(t *testing.T, stores []Backend) {
	o := togglesOf(t, stores[0])
	for _, step := range []struct {
		seq     int64
		verdict once.Verdict
	}{{9, once.Applied}, {10, once.Applied}, {9, once.Late}, {1<<53 + 1, once.Applied}, {1 << 53, once.Late},
		{math.MaxInt64 - 1, once.Applied}, {math.MaxInt64, once.Applied}, {math.MaxInt64 - 1, once.Late}, {math.MaxInt64, once.Repeated}} {
		got, err := o.Apply(t.Context(), "numbers", once.Intent{Member: "ann", On: true, Seq: step.seq})
		if err != nil || got.Verdict != step.verdict {
			t.Fatalf("%d: %+v, %v; want %v", step.seq, got, err, step.verdict)
		}
	}
	_, err := o.Apply(t.Context(), "numbers", once.Intent{Member: "ann", Seq: 0})
	wantError(t, err, once.ErrName)
}
