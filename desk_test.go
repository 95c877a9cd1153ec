package rushgate_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"rushgate"
)

// between stands between the desk and a real ledger: record, when set, decides
// what becomes of a batch.
type between struct {
	rushgate.Ledger
	record   atomic.Pointer[func(b *rushgate.Batch, do func() error) error]
	recorded atomic.Pointer[func() (bool, error)]
	expired  atomic.Bool // Record's context is as good as over
	used     context.Context
}

func (f *between) Record(ctx context.Context, b *rushgate.Batch) error {
	f.used = ctx
	do := func() error { return f.Ledger.Record(ctx, b) }
	if hook := f.record.Load(); hook != nil {
		return (*hook)(b, do)
	}
	return do()
}

func (f *between) Recorded(ctx context.Context, b *rushgate.Batch) (bool, error) {
	if f.expired.Load() && ctx == f.used {
		return false, context.DeadlineExceeded
	}
	if hook := f.recorded.Load(); hook != nil {
		return (*hook)()
	}
	return f.Ledger.Recorded(ctx, b)
}

// newFaultyWorld is a world whose ledger can be told to fail.
func newFaultyWorld(t *testing.T, edit ...func(*world)) (*world, *between) {
	t.Helper()
	f := &between{}
	w := &world{dir: t.TempDir(), clock: newClock()}
	w.wrapLedger = func(l rushgate.Ledger) rushgate.Ledger { f.Ledger = l; return f }
	for _, e := range edit {
		e(w)
	}
	w.start(t)
	return w, f
}

// once makes the next Record go through hook, and those after it through the ledger.
func (f *between) once(hook func(b *rushgate.Batch, do func() error) error) {
	var used atomic.Bool
	all := func(b *rushgate.Batch, do func() error) error {
		if used.Swap(true) {
			return do()
		}
		return hook(b, do)
	}
	f.record.Store(&all)
}

// hold makes the desk wait inside its next Record, until release is called:
// what is sent in the meantime forms the next batch.
func (f *between) hold(t *testing.T) (entered <-chan struct{}, release func()) {
	in, out := make(chan struct{}), make(chan struct{})
	f.once(func(_ *rushgate.Batch, do func() error) error {
		close(in)
		<-out
		return do()
	})
	release = sync.OnceFunc(func() { close(out) })
	t.Cleanup(release)
	return in, release
}

func TestAFailedCommitGrantsNothingAndTakesTheUnitBack(t *testing.T) {
	w, f := newFaultyWorld(t)
	w.sell(t, 1)
	f.once(func(*rushgate.Batch, func() error) error { return errors.New("disk full") })
	_, err := w.claim("ann")
	wantCode(t, err, rushgate.Unavailable)
	w.mustClaim(t, "bob") // the unit is there again
	_, err = w.claim("ann")
	wantCode(t, err, rushgate.SoldOut)
	w.audit(t)
}

func TestALostCommitAnswerIsFoundOutBeforeAnybodyIsTold(t *testing.T) {
	unknown := fmt.Errorf("connection lost: %w", rushgate.ErrUnknown)
	t.Run("committed", func(t *testing.T) {
		w, f := newFaultyWorld(t)
		w.sell(t, 5)
		f.once(func(_ *rushgate.Batch, do func() error) error { return errors.Join(do(), unknown) })
		c := w.mustClaim(t, "ann")
		if got, err := w.shop.Get(ctx, c.ID); err != nil || got.State != rushgate.Held {
			t.Fatalf("%+v, %v", got, err)
		}
		w.audit(t)
	})
	t.Run("not committed", func(t *testing.T) {
		w, f := newFaultyWorld(t)
		w.sell(t, 5)
		f.once(func(*rushgate.Batch, func() error) error { return unknown })
		_, err := w.claim("ann")
		wantCode(t, err, rushgate.Unavailable)
		if v := w.stock(t); v.Free != 5 || v.Held != 0 {
			t.Fatalf("stock %+v", v)
		}
		w.mustClaim(t, "ann")
		w.audit(t)
	})
	t.Run("unreadable", func(t *testing.T) {
		w, f := newFaultyWorld(t)
		w.sell(t, 5)
		f.once(func(_ *rushgate.Batch, do func() error) error { return errors.Join(do(), unknown) })
		blind := func() (bool, error) { return false, errors.New("no ledger") }
		f.recorded.Store(&blind)
		_, err := w.shop.Claim(ctx, rushgate.ClaimRequest{Sale: "phones", User: "ann", Key: "k"})
		wantCode(t, err, rushgate.Unavailable)
		if strings.Contains(err.Error(), "nothing was granted") {
			t.Fatalf("%v: that is not known", err)
		}
		<-w.shop.Failed() // it gives up availability before truth
		_, err = w.claim("bob")
		wantCode(t, err, rushgate.Unavailable)

		w.restart(t) // and after a restart the same key tells
		r, err := w.shop.Claim(ctx, rushgate.ClaimRequest{Sale: "phones", User: "ann", Key: "k"})
		if err != nil || !r.Replayed {
			t.Fatalf("%+v, %v, want the claim that was committed", r, err)
		}
		w.audit(t)
	})
}

func TestTheLedgerIsTheLastBarrier(t *testing.T) {
	w, f := newFaultyWorld(t)
	w.sell(t, 1)
	w.sell(t, 5, func(s *rushgate.Sale) { s.ID = "cases" })

	// Somebody takes the only phone behind the gate's back.
	stolen := &rushgate.Batch{ID: 1, At: w.clock.Now(), Steps: []rushgate.Step{&rushgate.Grant{Sale: "phones", Epoch: mustSale(t, w, "phones").Epoch, PerUser: 1,
		Claims: []rushgate.Claim{{ID: 7, Sale: "phones", Item: "black", User: "eve", Quantity: 1, State: rushgate.Confirmed, CreatedAt: w.clock.Now(), EndedAt: w.clock.Now()}}}}}
	if err := w.ledger.Record(ctx, stolen); err != nil {
		t.Fatal(err)
	}

	entered, release := f.hold(t)
	first := async(func() error {
		_, err := w.shop.Claim(ctx, rushgate.ClaimRequest{Sale: "cases", User: "zoe"})
		return err
	})
	<-entered
	// Both land in one batch; the ledger refuses it because of the phones.
	phone := async(func() error { _, err := w.claim("ann"); return err })
	cases := async(func() error {
		_, err := w.shop.Claim(ctx, rushgate.ClaimRequest{Sale: "cases", User: "ann"})
		return err
	})
	w.waitFor(t, 2)
	release()
	wantCode(t, <-first, "")
	wantCode(t, <-phone, rushgate.Unavailable)
	wantCode(t, <-cases, "") // an innocent sale is served all the same
	_, err := w.claim("ann") // and the gate has learned
	wantCode(t, err, rushgate.SoldOut)
	w.audit(t)
}

func mustSale(t *testing.T, w *world, id string) *rushgate.SaleView {
	t.Helper()
	s, err := w.shop.Sale(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// async runs f beside the test and returns where its error will be.
func async(f func() error) <-chan error {
	done := make(chan error, 1)
	go func() { done <- f() }()
	return done
}

// waitFor waits until so many claims and errands wait at the desk.
func (w *world) waitFor(t *testing.T, n int) {
	t.Helper()
	waiting := func() int { claims, errands := w.shop.Waiting(); return claims + errands }
	eventually(t, fmt.Sprint(n, " wait at the desk"), func() bool { return waiting() >= n })
}

func TestSomebodyElsesEpochStopsTheDesk(t *testing.T) {
	w := newWorld(t)
	w.sell(t, 5)
	if _, _, err := w.ledger.Fence(ctx, "phones", 0); err != nil {
		t.Fatal(err)
	}
	_, err := w.claim("ann")
	wantCode(t, err, rushgate.Unavailable)
	<-w.shop.Failed()
	if w.shop.Err() == nil {
		t.Fatal("the service does not say why it failed")
	}
}

func TestAFullDeskSaysSoAtOnce(t *testing.T) {
	const limit = 2048
	w, f := newFaultyWorld(t, func(w *world) { w.queueLimit = limit })
	w.sell(t, 10_000)
	entered, release := f.hold(t)
	first := async(func() error { _, err := w.claim("first"); return err })
	<-entered
	var waiting []<-chan error
	for i := range limit {
		waiting = append(waiting, async(func() error { _, err := w.claim(fmt.Sprintf("user-%d", i)); return err }))
	}
	w.waitFor(t, limit)
	_, err := w.claim("late") // answers while the desk is held: at once
	wantCode(t, err, rushgate.Overloaded)
	_, err = w.shop.ClaimBatch(ctx, []rushgate.ClaimRequest{{Sale: "phones", User: "later"}})
	wantCode(t, err, rushgate.Overloaded)
	release()
	wantCode(t, <-first, "")
	for _, done := range waiting {
		wantCode(t, <-done, "")
	}
	if v := w.stock(t); v.Held != limit+1 {
		t.Fatalf("held %d, want %d", v.Held, limit+1)
	}
	w.audit(t)
}

func TestWhoLeavesBeforeTheDeskBeginsLeavesNoTrace(t *testing.T) {
	w, f := newFaultyWorld(t)
	w.sell(t, 5)
	entered, release := f.hold(t)
	first := async(func() error { _, err := w.claim("first"); return err })
	<-entered
	leaving, leave := context.WithCancel(ctx)
	gone := async(func() error {
		_, err := w.shop.Claim(leaving, rushgate.ClaimRequest{Sale: "phones", User: "gone"})
		return err
	})
	w.waitFor(t, 1)
	leave()
	wantCode(t, <-gone, rushgate.Unavailable)
	release()
	wantCode(t, <-first, "")
	claims, err := w.shop.Claims(ctx, rushgate.ClaimQuery{Sale: "phones", User: "gone", Limit: 10})
	if err != nil || len(claims) != 0 {
		t.Fatalf("%+v, %v, want no trace", claims, err)
	}
	w.audit(t)
}

func TestWhoLeavesAfterTheDeskBeganGetsTheTruth(t *testing.T) {
	w, f := newFaultyWorld(t)
	w.sell(t, 5)
	entered, release := f.hold(t)
	leaving, leave := context.WithCancel(ctx)
	gone := async(func() error {
		_, err := w.shop.Claim(leaving, rushgate.ClaimRequest{Sale: "phones", User: "gone"})
		return err
	})
	<-entered
	leave()
	release()
	wantCode(t, <-gone, "")
	w.audit(t)
}

func TestCloseFinishesWhatWasAccepted(t *testing.T) {
	w, f := newFaultyWorld(t)
	w.sell(t, 100)
	entered, release := f.hold(t)
	first := async(func() error { _, err := w.claim("first"); return err })
	<-entered
	var waiting []<-chan error
	for i := range 50 {
		waiting = append(waiting, async(func() error { _, err := w.claim(fmt.Sprintf("user-%d", i)); return err }))
	}
	w.waitFor(t, 50)
	closed := async(func() error { return w.shop.Close(ctx) })
	release()
	wantCode(t, <-first, "")
	for _, done := range waiting {
		wantCode(t, <-done, "")
	}
	if err := <-closed; err != nil {
		t.Fatal(err)
	}
	_, err := w.claim("late")
	wantCode(t, err, rushgate.Unavailable)
}

// After freeze or close has answered, nothing is granted: in the middle of a
// burst, with claims before and behind it at the desk.
func TestAdminBeatsBuyer(t *testing.T) {
	for _, what := range []string{"freeze", "close"} {
		t.Run(what, func(t *testing.T) {
			w := newWorld(t)
			w.sell(t, 1_000_000, func(s *rushgate.Sale) { s.PerUser = 0 })
			do := map[string]func(context.Context, string) (*rushgate.SaleView, error){"freeze": w.shop.Freeze, "close": w.shop.CloseSale}[what]

			var answered atomic.Bool // set after the admin has its answer
			var late, granted atomic.Int64
			var buyers sync.WaitGroup
			started := make(chan struct{}, 1)
			for range 16 {
				buyers.Go(func() {
					for {
						sentAfter := answered.Load()
						_, err := w.claim("shop")
						if err != nil {
							return
						}
						granted.Add(1)
						if sentAfter {
							late.Add(1)
						}
						select {
						case started <- struct{}{}:
						default:
						}
					}
				})
			}
			for range 20 {
				<-started
			}
			if _, err := do(ctx, "phones"); err != nil {
				t.Fatal(err)
			}
			before := w.stock(t).Total - w.stock(t).Free
			answered.Store(true)
			buyers.Wait()
			if n := w.stock(t).Total - w.stock(t).Free; n != before || late.Load() != 0 {
				t.Fatalf("%d units taken when %s had answered, %d afterwards; %d late grants", before, what, n, late.Load())
			}
			w.audit(t)
		})
	}
}

func TestACancelledReleaseStillTellsTheTruth(t *testing.T) {
	w := newWorld(t)
	w.sell(t, 1)
	c := w.mustClaim(t, "ann")
	gone, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := w.shop.Release(gone, c.ID); err != nil {
		wantCode(t, err, rushgate.Unavailable)
	}
	got, err := w.shop.Release(ctx, c.ID)
	if err != nil || got.State != rushgate.Released {
		t.Fatalf("%+v, %v", got, err)
	}
	w.mustClaim(t, "bob")
	w.audit(t)
}

// Neither an operator nor a buyer who has paid waits in line with a stampede.
func TestAFullDeskStillTakesErrands(t *testing.T) {
	const limit = 2048
	w, f := newFaultyWorld(t, func(w *world) { w.queueLimit = limit })
	w.sell(t, 10_000)
	paid := w.mustClaim(t, "early")
	first, release := busyElsewhere(t, w, f)
	var crowd []<-chan error
	for from := 0; from < limit; from += 512 {
		rs := make([]rushgate.ClaimRequest, 512)
		for i := range rs {
			rs[i] = rushgate.ClaimRequest{Sale: "phones", User: fmt.Sprint("user-", from+i)}
		}
		crowd = append(crowd, async(func() error { _, err := w.shop.ClaimBatch(ctx, rs); return err }))
	}
	w.waitFor(t, limit)
	_, err := w.claim("late")
	wantCode(t, err, rushgate.Overloaded)
	confirmed := async(func() error { _, err := w.shop.Confirm(ctx, paid.ID); return err })
	frozen := async(func() error { _, err := w.shop.Freeze(ctx, "phones"); return err })
	w.waitFor(t, limit+2)
	release()
	for _, done := range append(crowd, first, confirmed, frozen) {
		wantCode(t, <-done, "")
	}
	w.audit(t)
}

func TestAnOperatorMayLeaveWhileAnotherIsServed(t *testing.T) {
	w, f := newFaultyWorld(t)
	w.sell(t, 5)
	first, release := busyElsewhere(t, w, f)
	freeze := async(func() error { _, err := w.shop.Freeze(ctx, "phones"); return err })
	w.waitFor(t, 1)
	leaving, leave := context.WithCancel(ctx)
	leave()
	_, err := w.shop.Freeze(leaving, "cases") // would wait for ever
	wantCode(t, err, rushgate.Unavailable)
	release()
	wantCode(t, <-first, "")
	wantCode(t, <-freeze, "")
}

// The look-up after a lost answer must not fail because the commit took long.
func TestALateUnknownIsLookedUp(t *testing.T) {
	w, f := newFaultyWorld(t)
	w.sell(t, 5)
	f.once(func(_ *rushgate.Batch, do func() error) error { return errors.Join(do(), rushgate.ErrUnknown) })
	f.expired.Store(true) // the context of the commit is used up
	c := w.mustClaim(t, "ann")
	if got, err := w.shop.Get(ctx, c.ID); err != nil || got.State != rushgate.Held {
		t.Fatalf("%+v, %v", got, err)
	}
}
