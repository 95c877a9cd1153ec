package rushgate_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"rushgate"
)

// blinking is a ledger whose snapshots fail while fails is set.
type blinking struct {
	rushgate.Ledger
	fails atomic.Bool
}

func (l *blinking) Snapshot(ctx context.Context, sale string, use func(rushgate.Snapshot) error) error {
	if l.fails.Load() {
		return errors.New("interrupted system call")
	}
	return l.Ledger.Snapshot(ctx, sale, use)
}

func newBlinkingWorld(t *testing.T) (*world, *blinking, *lossy) {
	t.Helper()
	l, g := &blinking{}, &lossy{}
	w := &world{dir: t.TempDir(), clock: newClock()}
	w.wrapLedger = func(in rushgate.Ledger) rushgate.Ledger { l.Ledger = in; return l }
	w.wrapGate = func(in rushgate.Gate) rushgate.Gate { g.Gate = in; return g }
	w.start(t)
	w.sell(t, 10)
	w.sell(t, 10, func(s *rushgate.Sale) { s.ID = "cases" })
	return w, l, g
}

// A sale that cannot be rebuilt is not sold; the others are; and when it can
// be rebuilt again, it is.
func TestARebuildThatFailsStopsOneSaleUntilItSucceeds(t *testing.T) {
	w, l, g := newBlinkingWorld(t)
	if _, err := g.Restock(ctx, &rushgate.Restock{Sale: "phones", Item: "black", Add: -1}); err != nil { // something to heal
		t.Fatal(err)
	}
	l.fails.Store(true)
	if r, err := w.shop.Audit(ctx, "phones"); err != nil || r.OK {
		t.Fatalf("%+v, %v, want a failed check", r, err)
	}
	_, err := w.claim("ann")
	wantCode(t, err, rushgate.Unavailable)
	_, err = w.shop.Claim(ctx, rushgate.ClaimRequest{Sale: "cases", User: "ann"})
	wantCode(t, err, "")
	if w.shop.Err() != nil {
		t.Fatal("the service gave up:", w.shop.Err())
	}
	l.fails.Store(false)
	w.mustClaim(t, "ann")
	if v := w.stock(t); v.Free != 9 || v.Unsettled != 0 {
		t.Fatalf("stock %+v", v)
	}
	w.audit(t)
}

// A change that was recorded stays, although the gate could not follow at once.
func TestARecordedChangeOutlivesAFailedRebuild(t *testing.T) {
	w, l, _ := newBlinkingWorld(t)
	l.fails.Store(true)
	wantCode(t, w.limit(0), rushgate.Unavailable)
	l.fails.Store(false)
	if _, err := w.shop.Freeze(ctx, "phones"); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if s := mustSale(t, w, "phones"); s.PerUser != 0 || !s.Frozen {
			t.Fatalf("%+v: the freeze has written the old limit over the recorded one", s)
		}
		w.restart(t)
	}
}

// A sale may be rebuilt, under a new epoch, while an operator's change waits
// at the desk: the change must not bring the old epoch back.
func TestAChangeThatWaitedThroughARebuildKeepsTheNewEpoch(t *testing.T) {
	f, g := &between{}, &lossy{}
	w := &world{dir: t.TempDir(), clock: newClock()}
	w.wrapLedger = func(l rushgate.Ledger) rushgate.Ledger { f.Ledger = l; return f }
	w.wrapGate = func(inner rushgate.Gate) rushgate.Gate { g.Gate = inner; return g }
	w.start(t)
	w.sell(t, 10)
	if _, err := g.Restock(ctx, &rushgate.Restock{Sale: "phones", Item: "black", Add: -1}); err != nil { // something to heal
		t.Fatal(err)
	}
	name := "Telephones"
	changes := []func() error{
		func() error {
			_, err := w.shop.ChangeSale(ctx, "phones", rushgate.SaleChange{Name: &name})
			return err
		},
		func() error { _, err := w.shop.Restock(ctx, "phones", "black", 5); return err },
		func() error { _, err := w.shop.Freeze(ctx, "phones"); return err },
	}
	for i, change := range changes {
		entered, release := f.hold(t)
		first := async(func() error { _, err := w.claim(fmt.Sprint("user-", i)); return err })
		<-entered
		healed := async(func() error { _, err := w.shop.Audit(ctx, "phones"); return err })
		w.waitFor(t, 1)
		changed := async(change)
		w.waitFor(t, 2)
		release()
		wantCode(t, <-first, "")
		wantCode(t, <-healed, "")
		wantCode(t, <-changed, "")
		if _, err := g.Restock(ctx, &rushgate.Restock{Sale: "phones", Item: "black", Add: -1}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.shop.Resume(ctx, "phones"); err != nil {
		t.Fatal(err)
	}
	w.audit(t)
	w.mustClaim(t, "ann")
}

// A ledger that is damaged or gone does not recover by itself: the service
// stops instead of refusing everybody for ever as if it were busy.
func TestALostLedgerStopsTheService(t *testing.T) {
	lost := fmt.Errorf("page 7: %w", rushgate.ErrLost)
	t.Run("while recording", func(t *testing.T) {
		w, f := newFaultyWorld(t)
		w.sell(t, 5)
		f.once(func(*rushgate.Batch, func() error) error { return lost })
		_, err := w.claim("ann")
		wantCode(t, err, rushgate.Unavailable)
		<-w.shop.Failed()
		if !errors.Is(w.shop.Err(), rushgate.ErrLost) {
			t.Fatal(w.shop.Err())
		}
	})
	t.Run("while sweeping", func(t *testing.T) {
		w := &world{dir: t.TempDir(), clock: newClock(), sweepEvery: time.Millisecond}
		w.wrapLedger = func(l rushgate.Ledger) rushgate.Ledger { return &unreadable{l, lost} }
		w.start(t)
		<-w.shop.Failed()
	})
	for name, read := range map[string]func(w *world) error{
		"a claim": func(w *world) error { _, err := w.shop.Get(ctx, 1); return err },
		"a list": func(w *world) error {
			_, err := w.shop.Claims(ctx, rushgate.ClaimQuery{Sale: "phones", Limit: 1})
			return err
		},
		"an audit": func(w *world) error { _, err := w.shop.Audit(ctx, "phones"); return err },
		"stock":    func(w *world) error { _, _, err := w.shop.Stock(ctx, "phones"); return err },
		"a replay": func(w *world) error {
			_, err := w.shop.Claim(ctx, rushgate.ClaimRequest{Sale: "phones", User: "ann", Key: "k"})
			return err
		},
		"a rebuild": func(w *world) error {
			_, err := w.shop.Claim(ctx, rushgate.ClaimRequest{Sale: "phones", User: "bob"})
			return err
		},
	} {
		t.Run("while reading "+name, func(t *testing.T) {
			w, f := newFaultyWorld(t)
			w.sell(t, 5)
			if _, err := w.shop.Claim(ctx, rushgate.ClaimRequest{Sale: "phones", User: "ann", Key: "k"}); err != nil {
				t.Fatal(err)
			}
			if name == "a rebuild" {
				f.once(func(*rushgate.Batch, func() error) error {
					return &rushgate.BarrierError{Barrier: rushgate.BarrierStock, Sale: "phones"}
				})
			}
			f.Ledger = &unreadable{f.Ledger, lost}
			wantCode(t, read(w), rushgate.Unavailable)
			if !errors.Is(w.shop.Err(), rushgate.ErrLost) {
				t.Fatalf("the service goes on: %v", w.shop.Err())
			}
		})
	}
}

// unreadable is a ledger of which nothing can be read.
type unreadable struct {
	rushgate.Ledger
	err error
}

func (u *unreadable) Expired(context.Context, time.Time, int) ([]rushgate.Claim, error) {
	return nil, u.err
}

func (u *unreadable) Claim(context.Context, rushgate.ID) (rushgate.Claim, error) {
	return rushgate.Claim{}, u.err
}

func (u *unreadable) Claims(context.Context, rushgate.ClaimQuery) ([]rushgate.Claim, error) {
	return nil, u.err
}

func (u *unreadable) Stock(context.Context, string) ([]rushgate.Stock, error) { return nil, u.err }

func (u *unreadable) Tally(context.Context, string) (*rushgate.Tally, error) { return nil, u.err }

func (u *unreadable) Fence(context.Context, string, int64) (*rushgate.Sale, bool, error) {
	return nil, false, u.err
}
