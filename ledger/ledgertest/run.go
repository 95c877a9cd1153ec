package ledgertest

import (
	"context"
	"errors"
	"testing"

	"rushgate"
)

// Run holds a ledger against the contract.
func Run(t *testing.T, f Factory) {
	t.Run("Smoke", func(t *testing.T) {
		d := open(t, f)
		s := d.sell(1, item("a", 2))
		a, b, c := d.claim(s, "a", "ann", 0), d.claim(s, "a", "bob", 0), d.claim(s, "a", "cy", 0)
		d.record(later(1), grant(s, a, b))
		err := d.Record(context.Background(), d.batch(later(1), grant(s, c)))
		var barrier *rushgate.BarrierError
		if !errors.As(err, &barrier) || barrier.Barrier != rushgate.BarrierStock {
			t.Fatalf("got %v", err)
		}
		m := &rushgate.Move{Sale: s.ID, To: rushgate.Released, IDs: []rushgate.ID{a.ID}}
		d.record(later(2), m, grant(s, c))
		d.reopen()
		ev, err := d.Events(context.Background(), s.ID, 0, 100)
		if err != nil || len(ev) != 5 {
			t.Fatalf("%v %v", ev, err)
		}
		tl, err := d.Tally(context.Background(), s.ID)
		if err != nil || tl.BadHistory != 0 || tl.SeqGaps != 0 || tl.BadSlots != 0 {
			t.Fatalf("%+v %v", tl, err)
		}
	})
}
