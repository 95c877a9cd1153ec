package ledgertest

import (
	"errors"
	"testing"

	"rushgate"
)

// locks are what nodes do to each other that are not there any more.
var locks = []sharedTest{
	{"APausedNodeBlocksNobodyForEver", func(t *testing.T, s SharedStorage) {
		all := nodes(t, s, 2)
		held, other := all[0].sell(1, item("a", 10)), all[0].sell(1, item("a", 10))
		c := all[0].claim(held, "a", "ann")
		all[0].record(start, grant(held, c))
		all[1].end()
		all[1].Ledger = s.OpenHasty(t)
		release := s.Hold(t, held.ID)
		for _, step := range []rushgate.Step{grant(held, all[1].claim(held, "a", "bob")), move(rushgate.Released, c)} {
			if err := all[1].try(step); err == nil || errors.Is(err, rushgate.ErrUnknown) || refusedBy(err) != "" {
				t.Fatalf("got %v, want a plain error: nothing was written", err)
			}
		}
		all[1].record(later(1), grant(other, all[1].claim(other, "a", "bob"))) // another sale goes on
		all[1].stock(held.ID, rushgate.Stock{Item: "a", Total: 10, Taken: 1})
		same(t, "the claim", all[1].read(c.ID), c)
		release()
		all[1].record(later(2), grant(held, all[1].claim(held, "a", "bob")), move(rushgate.Released, c))
		all[0].sound(held.ID)
	}},
	{"WhoeverWaitsGoesOn", func(t *testing.T, s SharedStorage) {
		all := nodes(t, s, 2)
		sale := all[0].sell(1, item("a", 10))
		release := s.Hold(t, sale.ID)
		done := make(chan struct{})
		var err error
		go func() {
			defer close(done)
			err = all[1].try(grant(sale, all[1].claim(sale, "a", "bob")))
		}()
		blocked(t, s, done)
		release()
		if <-done; err != nil {
			t.Fatal(err)
		}
		all[0].sound(sale.ID)
	}},
	{"RecordedWaitsForACommitThatIsOnItsWay", func(t *testing.T, s SharedStorage) {
		d := node(t, s, 0)
		for i, commit := range []bool{true, false, true, false} {
			b := &rushgate.Batch{ID: int64(1000 + i), At: start}
			end := s.Doubt(t, b.ID)
			done := make(chan struct{})
			var yes bool
			var err error
			go func() {
				defer close(done)
				yes, err = d.Recorded(t.Context(), b)
			}()
			blocked(t, s, done)
			end(commit)
			if <-done; yes != commit || err != nil {
				t.Fatalf("Recorded says %v, %v; the commit was %v", yes, err, commit)
			}
		}
	}},
}
