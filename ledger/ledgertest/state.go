package ledgertest

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rushgate"
)

// everything is all that a ledger can be asked about its sales.
type everything struct {
	Sales  []rushgate.Sale
	Stock  map[string][]rushgate.Stock
	Claims map[string][]rushgate.Claim
	Events map[string][]rushgate.Event
	LastID rushgate.ID
}

const plenty = 100_000

func (d *desk) everything() everything {
	d.t.Helper()
	ctx := context.Background()
	e := everything{Stock: map[string][]rushgate.Stock{}, Claims: map[string][]rushgate.Claim{}, Events: map[string][]rushgate.Event{}}
	var errs [5]error
	e.Sales, errs[0] = d.Sales(ctx)
	e.LastID, errs[1] = d.LastID(ctx)
	for _, s := range e.Sales {
		e.Stock[s.ID], errs[2] = d.Stock(ctx, s.ID)
		e.Claims[s.ID], errs[3] = d.Claims(ctx, rushgate.ClaimQuery{Sale: s.ID, Limit: plenty})
		e.Events[s.ID], errs[4] = d.Events(ctx, s.ID, 0, plenty)
		if err := errors.Join(errs[:]...); err != nil {
			d.t.Fatalf("read sale %s: %v", s.ID, err)
		}
	}
	return e
}

// same fails when got is not want.
func same(t fate, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("%s (- wanted, + got):\n%s", what, diff)
	}
}

// refused records steps that a barrier must stop, and checks that nothing of
// them was kept, neither now nor after a restart.
func (d *desk) refused(by rushgate.Barrier, steps ...rushgate.Step) {
	d.t.Helper()
	before := d.everything()
	b := d.batch(later(1), steps...)
	stopped(d.t, d.Record(context.Background(), b), by)
	same(d.t, "after a refused batch", d.everything(), before)
	if yes, err := d.Recorded(context.Background(), b); yes || err != nil {
		d.t.Fatalf("Recorded says %v, %v of a refused batch", yes, err)
	}
	d.reopen()
	same(d.t, "after a refused batch and a restart", d.everything(), before)
}

func stopped(t fate, err error, by rushgate.Barrier) {
	t.Helper()
	var barrier *rushgate.BarrierError
	if !errors.As(err, &barrier) {
		t.Fatalf("got %v, want the barrier %q", err, by)
	}
	if barrier.Barrier != by || errors.Is(err, rushgate.ErrUnknown) {
		t.Fatalf("got the barrier %q (%v), want %q", barrier.Barrier, err, by)
	}
	if barrier.Detail == "" || barrier.Sale == "" {
		t.Fatalf("the barrier does not say what it refused: %+v", barrier)
	}
}

// stock checks the only stock row of a sale.
func (d *desk) stock(sale string, want ...rushgate.Stock) {
	d.t.Helper()
	got, err := d.Stock(context.Background(), sale)
	if err != nil {
		d.t.Fatalf("stock: %v", err)
	}
	same(d.t, "stock", got, want)
}

// fence takes the next epoch of a sale, whatever it is.
func (d *desk) fence(sale string) *rushgate.Sale {
	d.t.Helper()
	s, taken, err := d.Fence(context.Background(), sale, 0)
	if err != nil || !taken {
		d.t.Fatalf("fence: taken %v, %v", taken, err)
	}
	return s
}

func (d *desk) read(id rushgate.ID) rushgate.Claim {
	d.t.Helper()
	c, err := d.Claim(context.Background(), id)
	if err != nil {
		d.t.Fatalf("claim %d: %v", id, err)
	}
	return c
}

// sound checks a sale with the auditor's eyes.
func (d *desk) sound(sale string) *rushgate.Tally {
	d.t.Helper()
	y, err := d.Tally(context.Background(), sale)
	if err != nil {
		d.t.Fatalf("tally: %v", err)
	}
	if len(y.OverLimit) > 0 || y.BadSlots != 0 || y.SeqGaps != 0 || y.BadHistory != 0 {
		d.t.Fatalf("the sale is not sound: %+v", y)
	}
	for _, it := range y.Items {
		if it.Taken != it.CountedHeld+it.CountedConfirmed || it.Confirmed != it.CountedConfirmed || it.Taken > it.Total {
			d.t.Fatalf("the stock row does not fit the claims: %+v", it)
		}
	}
	return y
}

func must[T any](t testing.TB) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}
