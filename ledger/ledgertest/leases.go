package ledgertest

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"rushgate"
)

// RunLeases holds the leases of ledgers over one server against the contract of
// [rushgate.Leases].
func RunLeases(t *testing.T, f SharedFactory) {
	for _, c := range append(leases, fencing...) {
		t.Run(c.name, func(t *testing.T) { c.run(t, f.New(t)) })
	}
}

// long is longer than any test; brief is over when the next question is asked,
// or a little later.
const (
	long  = time.Hour
	brief = time.Millisecond
)

func leasesOf(d *desk) rushgate.Leases { return d.Ledger.(rushgate.Leases) }

// acquire asks for a lease, and fails when the answer is not held.
func (d *desk) acquire(want rushgate.Lease, ttl time.Duration, held bool) rushgate.Lease {
	d.t.Helper()
	got, yes, err := leasesOf(d).Acquire(context.Background(), want, ttl)
	if err != nil || yes != held {
		d.t.Fatalf("acquire %q for %q: held is %v, %v; want %v", want.Name, want.Holder, yes, err, held)
	}
	return got
}

// awaitEnd waits until a lease is over by the database's clock.
func (d *desk) awaitEnd(name string) {
	d.t.Helper()
	for {
		list, err := leasesOf(d).Held(context.Background(), name)
		if err != nil {
			d.t.Fatalf("held: %v", err)
		}
		if len(list) == 0 {
			return
		}
	}
}

// leases are what several holders see of them.
var leases = []sharedTest{
	{"OneHolderAtATime", func(t *testing.T, s SharedStorage) {
		all := nodes(t, s, 2)
		ann, bob := rushgate.Lease{Name: "seller", Holder: "ann", Note: "http://ann"}, rushgate.Lease{Name: "seller", Holder: "bob"}
		got := all[0].acquire(ann, long, true)
		if got.Term != 1 || got.Note != ann.Note || got.Holder != "ann" || got.Left <= 0 || got.Left > long {
			t.Fatalf("acquired %+v", got)
		}
		theirs := all[1].acquire(bob, long, false)
		if theirs.Holder != "ann" || theirs.Term != 1 || theirs.Note != ann.Note || theirs.Left <= 0 || theirs.Left > got.Left {
			t.Fatalf("the other one sees %+v, the holder %+v", theirs, got)
		}
		ann.Note = "http://elsewhere"
		if got = all[0].acquire(ann, 2*long, true); got.Term != 1 || got.Note != ann.Note || got.Left <= long {
			t.Fatalf("extended %+v", got)
		}
		if other := all[1].acquire(rushgate.Lease{Name: "Seller", Holder: "bob"}, long, true); other.Term != 1 {
			t.Fatalf("another name: %+v", other)
		}
	}},
	{"ALeaseThatIsOverChangesHands", func(t *testing.T, s SharedStorage) {
		all := nodes(t, s, 2)
		ann, bob := rushgate.Lease{Name: "seller", Holder: "ann"}, rushgate.Lease{Name: "seller", Holder: "bob"}
		for term := int64(1); term < 10; term += 3 {
			if got := all[0].acquire(ann, brief, true); got.Term != term {
				t.Fatalf("term %d, want %d", got.Term, term)
			}
			var got rushgate.Lease
			for held := false; !held; { // as a standby does
				var err error
				if got, held, err = leasesOf(all[1]).Acquire(t.Context(), bob, brief); err != nil {
					t.Fatal(err)
				}
			}
			if got.Holder != "bob" || got.Term != term+1 {
				t.Fatalf("taken over as %+v", got)
			}
			all[0].awaitEnd("seller")
			if got = all[1].acquire(bob, brief, true); got.Term != term+2 {
				t.Fatalf("its own lease, which was over: term %d, want %d", got.Term, term+2)
			}
			all[0].awaitEnd("seller")
		}
	}},
	{"GivenBackBeforeItsTime", func(t *testing.T, s SharedStorage) {
		d := node(t, s, 0)
		ann, bob := rushgate.Lease{Name: "seller", Holder: "ann"}, rushgate.Lease{Name: "seller", Holder: "bob"}
		mine := d.acquire(ann, long, true)
		d.release(rushgate.Lease{Name: "seller", Holder: "bob", Term: mine.Term}) // not his
		d.release(rushgate.Lease{Name: "seller", Holder: "ann", Term: mine.Term + 1})
		d.release(rushgate.Lease{Name: "nobody's", Holder: "ann", Term: 1})
		d.acquire(bob, long, false)
		d.release(mine)
		theirs := d.acquire(bob, long, true)
		if theirs.Term != mine.Term+1 {
			t.Fatalf("term %d after %d", theirs.Term, mine.Term)
		}
		d.release(mine) // too late: nothing happens
		if got := d.acquire(ann, long, false); got.Term != theirs.Term || got.Holder != "bob" {
			t.Fatalf("%+v", got)
		}
	}},
	{"HeldByPrefix", func(t *testing.T, s SharedStorage) {
		d := node(t, s, 0)
		for _, name := range []string{"node/b", "node/a", "Node/c", "node", "other", "node%/x", "nodex/y", "node/é"} {
			d.acquire(rushgate.Lease{Name: name, Holder: "h-" + name, Note: "n-" + name}, long, true)
		}
		d.acquire(rushgate.Lease{Name: "node/over", Holder: "x"}, brief, true)
		d.awaitEnd("node/over")
		d.release(d.acquire(rushgate.Lease{Name: "node/back", Holder: "x"}, long, true))
		for prefix, want := range map[string]string{
			"node/": "node/a node/b node/é", "node": "node node%/x node/a node/b node/é nodex/y", "node%": "node%/x", "N": "Node/c", "none": "",
			"": "Node/c node node%/x node/a node/b node/é nodex/y other", "_": "",
		} {
			var names []string
			for _, l := range must[[]rushgate.Lease](t)(leasesOf(d).Held(t.Context(), prefix)) {
				names = append(names, l.Name)
				if l.Holder != "h-"+l.Name || l.Note != "n-"+l.Name || l.Term != 1 || l.Left <= 0 || l.Left > long {
					t.Fatalf("%+v", l)
				}
			}
			same(t, "names with the prefix "+prefix, strings.Join(names, " "), want)
		}
	}},
	{"TheLongestNames", func(t *testing.T, s SharedStorage) {
		d := node(t, s, 0)
		want := rushgate.Lease{Name: strings.Repeat("n", 100), Holder: strings.Repeat("李", 33), Note: strings.Repeat("o", 500)}
		got := d.acquire(want, long, true)
		want.Term, want.Left = 1, got.Left
		same(t, "lease", got, want)
		for _, bad := range []rushgate.Lease{
			{Holder: "h"}, {Name: "n"}, {Name: strings.Repeat("n", 101), Holder: "h"},
			{Name: "n", Holder: strings.Repeat("h", 101)}, {Name: "n", Holder: "h", Note: strings.Repeat("o", 501)},
		} {
			if _, held, err := leasesOf(d).Acquire(t.Context(), bad, long); err == nil || held {
				t.Errorf("acquired %+v", bad)
			}
		}
		if _, held, err := leasesOf(d).Acquire(t.Context(), rushgate.Lease{Name: "n", Holder: "h"}, 0); err == nil || held {
			t.Error("acquired for no time")
		}
	}},
	{"OnlyOneOfManyWins", func(t *testing.T, s SharedStorage) {
		all := nodes(t, s, 4)
		for round := range int64(15) {
			won := make([]rushgate.Lease, len(all))
			for _, err := range atOnce(all, func(i int, d *desk) error {
				want := rushgate.Lease{Name: "seller", Holder: string(rune('a' + i))}
				got, held, err := leasesOf(d).Acquire(context.Background(), want, long)
				if won[i] = (rushgate.Lease{}); held {
					won[i] = got
				}
				return err
			}) {
				if err != nil {
					t.Fatal(err)
				}
			}
			n := 0
			for i, l := range won {
				if l.Term != 0 {
					n++
					all[i].release(l)
				}
				if l.Term != 0 && l.Term != round+1 {
					t.Fatalf("round %d: term %d", round, l.Term)
				}
			}
			if n != 1 {
				t.Fatalf("%d of them hold the lease", n)
			}
		}
	}},
	{"RandomHoldersAgainstTheModel", leasesAgainstModel},
}

func (d *desk) release(l rushgate.Lease) {
	d.t.Helper()
	if err := leasesOf(d).Release(context.Background(), l); err != nil {
		d.t.Fatalf("release: %v", err)
	}
}

// under returns the desk with its ledger as it is under a lease, and with numbers
// that the desk itself does not give out.
func (d *desk) under(l rushgate.Lease) *desk {
	u := *d
	u.batches, u.ids = u.batches+500_000, u.ids+500_000
	u.Ledger = leasesOf(d).Under(l)
	return &u
}

// fencing is what a holder may write, and for how long.
var fencing = []sharedTest{
	{"WhatIsWrittenUnderALease", func(t *testing.T, s SharedStorage) {
		all := nodes(t, s, 2)
		sale := all[0].sell(1, item("a", 10))
		mine := all[0].under(all[0].acquire(rushgate.Lease{Name: "seller", Holder: "ann"}, brief, true))
		all[0].awaitEnd("seller")
		// Over, and nobody has taken it: it is still the holder's.
		mine.record(later(1), grant(sale, mine.claim(sale, "a", "u1")))
		sale = mine.fence(sale.ID)
		theirs := all[1].under(all[1].acquire(rushgate.Lease{Name: "seller", Holder: "bob"}, long, true))
		before := all[0].everything()
		c := mine.claim(sale, "a", "u2")
		lost := *sale
		lost.Name = "lost"
		for _, step := range []rushgate.Step{grant(sale, c), move(rushgate.Released, before.Claims[sale.ID][0]), grant(sale),
			&rushgate.Restock{Sale: sale.ID, Item: "a", Add: 1}, &rushgate.Put{Sale: &lost, Kind: rushgate.SaleChanged},
			&rushgate.Revoke{Sale: sale.ID, Claims: []rushgate.Claim{c}}} {
			stopped(t, mine.try(step), rushgate.BarrierLease)
		}
		_, taken, err := mine.Fence(t.Context(), sale.ID, 0)
		if stopped(t, err, rushgate.BarrierLease); taken {
			t.Fatal("fenced by somebody who has lost the lease")
		}
		same(t, "after what the old holder tried", all[0].everything(), before)
		same(t, "what the old holder reads", mine.everything(), before)
		theirs.record(later(2), grant(theirs.fence(sale.ID), theirs.claim(sale, "a", "u3")))
		if err := mine.Close(); err != nil {
			t.Fatal(err)
		}
		all[0].record(later(2), move(rushgate.Released, before.Claims[sale.ID][0])) // closing the view closes nothing
		all[0].sound(sale.ID)
	}},
	{"NothingIsWrittenUnderALeaseThatWasGivenBack", func(t *testing.T, s SharedStorage) {
		d := node(t, s, 0)
		sale := d.sell(1, item("a", 10))
		ann := rushgate.Lease{Name: "seller", Holder: "ann"}
		first := d.acquire(ann, long, true)
		d.release(first)
		stopped(t, d.under(first).try(grant(sale, d.claim(sale, "a", "u1"))), rushgate.BarrierLease)
		second := d.acquire(ann, long, true)
		stopped(t, d.under(first).try(grant(sale, d.claim(sale, "a", "u1"))), rushgate.BarrierLease)
		stopped(t, d.under(rushgate.Lease{Name: "never", Holder: "ann", Term: 1}).try(grant(sale, d.claim(sale, "a", "u1"))), rushgate.BarrierLease)
		d.under(second).record(later(1), grant(sale, d.claim(sale, "a", "u1")))
	}},
	{"ATakeoverWaitsForATransactionThatHasBegun", func(t *testing.T, s SharedStorage) { takeover(t, s, true) }},
	{"ATakeoverWaitsForATransactionThatFails", func(t *testing.T, s SharedStorage) { takeover(t, s, false) }},
	{"ExtendingDoesNotWaitForTheHoldersOwnWrites", func(t *testing.T, s SharedStorage) {
		ann := rushgate.Lease{Name: "seller", Holder: "ann"}
		other := node(t, s, 1)
		inside := func() {}
		d := openOn(t, t, s, func(commit func() error) error {
			inside()
			return commit()
		})
		defer d.end()
		sale := d.sell(1, item("a", 10))
		mine := d.acquire(ann, long, true)
		inside = func() {
			if got := other.acquire(ann, 2*long, true); got.Term != mine.Term {
				t.Errorf("term %d, want %d", got.Term, mine.Term)
			}
		}
		d.under(mine).record(later(1), grant(sale, d.claim(sale, "a", "u1")))
	}},
}

// takeover takes a lease that is over while its holder is in the middle of a
// transaction: the new holder has it only when that has ended, one way or the
// other, and nothing of the old one comes afterwards.
func takeover(t *testing.T, s SharedStorage, commits bool) {
	other := node(t, s, 1)
	bob := rushgate.Lease{Name: "seller", Holder: "bob"}
	var (
		theirs rushgate.Lease
		held   bool
		err    error
		taken  = make(chan struct{})
		inside = func() {}
	)
	d := openOn(t, t, s, func(commit func() error) error {
		inside()
		if !commits {
			return errInjected
		}
		return commit()
	})
	defer d.end()
	sale := other.sell(1, item("a", 10))
	mine := d.under(d.acquire(rushgate.Lease{Name: "seller", Holder: "ann"}, brief, true))
	other.awaitEnd("seller")
	inside = func() {
		go func() {
			defer close(taken)
			theirs, held, err = leasesOf(other).Acquire(context.Background(), bob, long)
		}()
		blocked(t, s, taken)
	}
	b := mine.batch(later(1), grant(sale, mine.claim(sale, "a", "u1")))
	if got := mine.Record(t.Context(), b); commits && got != nil || !commits && !errors.Is(got, rushgate.ErrUnknown) {
		t.Fatalf("record: %v", got)
	}
	if <-taken; err != nil || !held || theirs.Term != 2 {
		t.Fatalf("takeover: %+v, held is %v, %v", theirs, held, err)
	}
	if yes, err := mine.Recorded(t.Context(), b); yes != commits || err != nil {
		t.Fatalf("Recorded says %v, %v", yes, err)
	}
	inside = func() {}
	stopped(t, mine.try(grant(sale, mine.claim(sale, "a", "u2"))), rushgate.BarrierLease)
	other.stock(sale.ID, rushgate.Stock{Item: "a", Total: 10, Taken: boolInt(commits)})
}
