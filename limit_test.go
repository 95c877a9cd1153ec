package rushgate_test

import (
	"fmt"
	"testing"

	"rushgate"
)

func limitOf(n int64) func(*rushgate.Sale) { return func(s *rushgate.Sale) { s.PerUser = n } }

func (w *world) claimN(user string, n int64) error {
	_, err := w.shop.Claim(ctx, rushgate.ClaimRequest{Sale: "phones", User: user, Quantity: n})
	return err
}

func (w *world) limit(n int64) error {
	_, err := w.shop.ChangeSale(ctx, "phones", rushgate.SaleChange{PerUser: &n})
	return err
}

// busyElsewhere makes the desk wait in a batch of another sale; what is sent
// until release is one batch, or as many as the desk makes of it.
func busyElsewhere(t *testing.T, w *world, f *between) (first <-chan error, release func()) {
	t.Helper()
	w.sell(t, 5, func(s *rushgate.Sale) { s.ID = "cases" })
	entered, release := f.hold(t)
	first = async(func() error {
		_, err := w.shop.Claim(ctx, rushgate.ClaimRequest{Sale: "cases", User: "zoe"})
		return err
	})
	<-entered
	return first, release
}

// A claim that waits at the desk counts: the limit behind it cannot become
// narrower than what it gets.
func TestANarrowerLimitSeesTheClaimsBeforeIt(t *testing.T) {
	for _, from := range []int64{5, 0} {
		t.Run(fmt.Sprint("from ", from), func(t *testing.T) {
			w, f := newFaultyWorld(t)
			w.sell(t, 10, limitOf(from))
			first, release := busyElsewhere(t, w, f)
			bought := async(func() error { return w.claimN("ann", 5) })
			w.waitFor(t, 1)
			changed := async(func() error { return w.limit(1) })
			w.waitFor(t, 2)
			release()
			wantCode(t, <-first, "")
			wantCode(t, <-bought, "")
			wantCode(t, <-changed, rushgate.WrongState)
			w.audit(t)
		})
	}
}

func TestANarrowerLimitHoldsForTheClaimsBehindIt(t *testing.T) {
	w, f := newFaultyWorld(t)
	w.sell(t, 10, limitOf(5))
	first, release := busyElsewhere(t, w, f)
	changed := async(func() error { return w.limit(1) })
	w.waitFor(t, 1)
	bought := async(func() error { return w.claimN("ann", 5) })
	w.waitFor(t, 2)
	release()
	wantCode(t, <-first, "")
	wantCode(t, <-changed, "")
	wantCode(t, <-bought, rushgate.LimitReached)
	w.audit(t)
}

// A wider limit, with claims behind it that need it.
func TestAWiderLimitHoldsForTheClaimsBehindIt(t *testing.T) {
	for _, to := range []int64{3, 0} {
		t.Run(fmt.Sprint("to ", to), func(t *testing.T) {
			w, f := newFaultyWorld(t)
			w.sell(t, 10)
			w.mustClaim(t, "old")
			first, release := busyElsewhere(t, w, f)
			changed := async(func() error { return w.limit(to) })
			w.waitFor(t, 1)
			bought := async(func() error { return w.claimN("ann", 2) })
			w.waitFor(t, 2)
			innocent := async(func() error { return w.claimN("bob", 1) })
			w.waitFor(t, 3)
			release()
			for _, done := range []<-chan error{first, changed, bought, innocent} {
				wantCode(t, <-done, "")
			}
			w.audit(t)
		})
	}
}
