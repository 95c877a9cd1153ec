package rushgate_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"rushgate"
)

// TestManyNodesSellOneStock: exactly the stock, one each, whichever node is asked.
func TestManyNodesSellOneStock(t *testing.T) {
	w := newTown(t, 3)
	w.sell(t, 50)
	var granted, limited atomic.Int64
	var crowd sync.WaitGroup
	for i := range 12 {
		crowd.Go(func() {
			for u := range 40 {
				_, err := w.at(i%3, fmt.Sprint("user-", (u*7+i)%120))
				switch rushgate.CodeOf(err) {
				case "":
					granted.Add(1)
				case rushgate.LimitReached:
					limited.Add(1)
				case rushgate.SoldOut:
				default:
					t.Errorf("claim: %v", err)
				}
			}
		})
	}
	crowd.Wait()
	if granted.Load() != 50 || w.recorded(t) != 50 || limited.Load() == 0 {
		t.Fatalf("%d granted, %d recorded, %d limited", granted.Load(), w.recorded(t), limited.Load())
	}
	w.audit(t)
}

// TestASaleIsKnownEverywhereAtOnce: also its end.
func TestASaleIsKnownEverywhereAtOnce(t *testing.T) {
	w := newTown(t, 2, func(_ int, cfg *rushgate.Config) { cfg.FollowEvery = time.Hour })
	w.sell(t, 5)
	if _, err := w.at(1, "ann"); err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		if _, err := w.nodes[i%2].Freeze(ctx, "phones"); err != nil {
			t.Fatal(err)
		}
		_, err := w.at((i+1)%2, "bob")
		wantCode(t, err, rushgate.Frozen)
		if _, err := w.nodes[(i+1)%2].Resume(ctx, "phones"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.at(0, "bob"); err != nil {
		t.Fatal(err)
	}
	_, err := w.nodes[1].Sale(ctx, "ghost")
	wantCode(t, err, rushgate.NotFound)
}

// TestOrphansAreAdopted: a node died between gate and ledger; what it granted is
// recorded by another, whole, and once.
func TestOrphansAreAdopted(t *testing.T) {
	w := newTown(t, 2)
	w.sell(t, 5)
	asks := []rushgate.Ask{{ID: 77 << 32, Sale: "phones", Item: "black", User: "ann", Quantity: 1, Key: "k"}}
	out := make([]rushgate.Decision, 1)
	if err := w.gate.Claim(ctx, w.clock.Now(), asks, out); err != nil || out[0].Code != rushgate.Granted {
		t.Fatalf("%+v, %v", out, err)
	}
	granted := w.clock.Now()
	w.clock.Add(time.Second)
	eventually(t, "the orphan is recorded", func() bool { return w.recorded(t) == 1 })
	c, err := w.nodes[1].Get(ctx, asks[0].ID)
	if err != nil || c.User != "ann" || c.Key != "k" || c.Slot != 0 || !c.CreatedAt.Equal(granted) || !c.ExpiresAt.Equal(granted.Add(15*time.Minute)) {
		t.Fatalf("%+v, %v", c, err)
	}
	r, err := w.at(0, "ann", "k")
	if err != nil || !r.Replayed || r.Claim.ID != c.ID {
		t.Fatalf("%+v, %v", r, err)
	}
	eventually(t, "the journal is empty", func() bool { return w.stock(t).Free == 4 && len(w.open(t)) == 0 })
	w.audit(t)
}

// open lists what is in the journal.
func (w *town) open(t *testing.T) []rushgate.Claim {
	t.Helper()
	claims, _, err := w.gate.Orphans(ctx, "phones", 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	return claims
}

// slow is a ledger that lets one grant wait, as that of a node which stands still.
// Those that others of the node record meanwhile, or after it, do not wait.
type slow struct {
	rushgate.Ledger
	fail error // of the one that waits
	next atomic.Pointer[pausing]
}

// pausing is the wait of one grant.
type pausing struct{ arrived, goOn chan struct{} }

// hold has the next grant wait.
func (s *slow) hold() *pausing {
	p := &pausing{arrived: make(chan struct{}), goOn: make(chan struct{})}
	s.next.Store(p)
	return p
}

func (s *slow) Record(ctx context.Context, b *rushgate.Batch) error {
	if !grants(b) {
		return s.Ledger.Record(ctx, b)
	}
	p := s.next.Swap(nil)
	if p == nil {
		return s.Ledger.Record(ctx, b)
	}
	close(p.arrived)
	<-p.goOn
	if s.fail != nil {
		return s.fail
	}
	return s.Ledger.Record(ctx, b)
}

// TestANodeThatStoodStill: its claims were adopted meanwhile. It finds them, and
// its buyer hears of the one claim that there is.
func TestANodeThatStoodStill(t *testing.T) {
	for _, fails := range []bool{false, true} {
		t.Run(fmt.Sprint("ItsRecordFails=", fails), func(t *testing.T) {
			lazy := &slow{}
			w := newTown(t, 2, func(i int, cfg *rushgate.Config) {
				if i == 0 {
					lazy.Ledger = cfg.Ledger
					cfg.Ledger = lazy
					cfg.Chores = func() bool { return false }
				}
			})
			w.sell(t, 5)
			if fails {
				lazy.fail = fmt.Errorf("the connection was cut")
			}
			standing := lazy.hold()
			type answer struct {
				rushgate.Receipt
				err error
			}
			answers := make(chan answer, 1)
			go func() {
				r, err := w.at(0, "ann", "k")
				answers <- answer{r, err}
			}()
			<-standing.arrived
			w.clock.Add(time.Second)
			eventually(t, "the claim is adopted", func() bool { return w.recorded(t) == 1 && len(w.open(t)) == 0 })
			close(standing.goOn)
			a := <-answers
			if fails {
				wantCode(t, a.err, rushgate.Unavailable)
			} else if a.err != nil || a.Replayed || a.Claim.User != "ann" {
				t.Fatalf("%+v", a)
			}
			r, err := w.at(1, "ann", "k")
			if err != nil || !r.Replayed || !fails && r.Claim.ID != a.Claim.ID {
				t.Fatalf("%+v, %v; first %+v", r, err, a)
			}
			if w.recorded(t) != 1 {
				t.Fatalf("%d claims", w.recorded(t))
			}
			w.audit(t)
		})
	}
}

// TestAGateThatForgot is built anew, and nothing acknowledged is lost.
func TestAGateThatForgot(t *testing.T) {
	w := newTown(t, 2)
	w.sell(t, 5)
	first, err := w.at(0, "ann", "k")
	if err != nil {
		t.Fatal(err)
	}
	for round := range 3 {
		w.gate.lose()
		user := fmt.Sprint("user-", round)
		eventually(t, "it sells again", func() bool {
			_, err := w.at(round%2, user)
			if code := rushgate.CodeOf(err); code != "" && code != rushgate.Unavailable {
				t.Fatalf("%v", err)
			}
			return err == nil
		})
	}
	_, err = w.at(1, "ann")
	wantCode(t, err, rushgate.LimitReached)
	r, err := w.at(1, "ann", "k")
	if err != nil || r.Claim.ID != first.Claim.ID {
		t.Fatalf("%+v, %v", r, err)
	}
	if st := w.stock(t); st.Free != 1 || w.recorded(t) != 4 {
		t.Fatalf("%+v", st)
	}
	w.audit(t)
}

// TestAGateThatForgotWhileNobodyBought is built anew before anybody does: the
// first buyer is not the one who finds out, and the operator sees the stock.
func TestAGateThatForgotWhileNobodyBought(t *testing.T) {
	w := newTown(t, 2)
	w.sell(t, 5)
	w.gate.lose()
	eventually(t, "its stock is known", func() bool {
		st, _, err := w.nodes[1].Stock(ctx, "phones")
		return err == nil && st[0].Free == 5
	})
	w.audit(t)
}

// TestAcceptedClaimsThatTheGateLost are revoked, and say so.
func TestAcceptedClaimsThatTheGateLost(t *testing.T) {
	lazy := &slow{}
	w := newTown(t, 2, func(i int, cfg *rushgate.Config) {
		if i == 0 {
			lazy.Ledger = cfg.Ledger
			cfg.Ledger = lazy
		}
	})
	w.sell(t, 5, func(s *rushgate.Sale) { s.Ack = rushgate.Accepted })
	standing := lazy.hold()
	r, err := w.at(0, "ann", "k") // acknowledged while the ledger has not answered
	if err != nil {
		t.Fatal(err)
	}
	<-standing.arrived
	w.gate.lose()
	eventually(t, "the other node sells again", func() bool { _, err := w.at(1, "bob"); return err == nil })
	close(standing.goOn)
	eventually(t, "the claim is revoked", func() bool {
		c, err := w.ledger.Claim(ctx, r.Claim.ID)
		return err == nil && c.State == rushgate.Revoked
	})
	var again rushgate.Receipt
	eventually(t, "the buyer's second try succeeds", func() bool { // the sale may stand still for a moment, to be mended
		again, err = w.at(1, "ann", "k")
		return err == nil
	})
	if again.Replayed || again.Claim.ID == r.Claim.ID {
		t.Fatalf("the buyer's second try: %+v", again)
	}
	w.audit(t)
}

// TestAcceptedClaimsOutliveTheLedgersAbsence: they stay in the journal and are
// recorded when the ledger is back.
func TestAcceptedClaimsOutliveTheLedgersAbsence(t *testing.T) {
	lazy := &slow{fail: fmt.Errorf("the ledger is away")}
	w := newTown(t, 1, func(_ int, cfg *rushgate.Config) {
		lazy.Ledger = cfg.Ledger
		cfg.Ledger = lazy
	})
	w.sell(t, 5, func(s *rushgate.Sale) { s.Ack = rushgate.Accepted })
	standing := lazy.hold()
	r, err := w.at(0, "ann")
	if err != nil {
		t.Fatal(err)
	}
	<-standing.arrived
	close(standing.goOn)
	if _, err := w.at(0, "bob"); err != nil { // behind ann, whose batch fails
		t.Fatal(err)
	}
	w.clock.Add(time.Second)
	eventually(t, "the claim is recorded", func() bool { c, err := w.ledger.Claim(ctx, r.Claim.ID); return err == nil && c.State == rushgate.Held })
	w.audit(t)
}

// TestAcceptedClaimsOutliveTheLedgersAbsenceAndTheGate: the node that told of them
// remembers them, also when it ends.
func TestAcceptedClaimsOutliveTheLedgersAbsenceAndTheGate(t *testing.T) {
	for name, ends := range map[string]bool{"the node goes on": false, "the node ends": true} {
		t.Run(name, func(t *testing.T) {
			lazy := &slow{fail: fmt.Errorf("the ledger is away")}
			w := newTown(t, 2, func(i int, cfg *rushgate.Config) {
				if i == 0 {
					lazy.Ledger = cfg.Ledger
					cfg.Ledger = lazy
				}
			})
			w.sell(t, 5, func(s *rushgate.Sale) { s.Ack = rushgate.Accepted })
			standing := lazy.hold()
			r, err := w.at(0, "ann")
			if err != nil {
				t.Fatal(err)
			}
			<-standing.arrived
			w.gate.lose()
			eventually(t, "the other node sells again", func() bool { _, err := w.at(1, "bob"); return err == nil })
			if ends {
				closed := make(chan error)
				go func() { closed <- w.nodes[0].Close(ctx) }()
				close(standing.goOn)
				if err := <-closed; err != nil {
					t.Fatal(err)
				}
			} else {
				close(standing.goOn)
			}
			eventually(t, "the claim is revoked", func() bool {
				c, err := w.ledger.Claim(ctx, r.Claim.ID)
				return err == nil && c.State == rushgate.Revoked
			})
			w.shop = w.nodes[1]
			w.audit(t)
		})
	}
}

// TestAFullJournalStopsNewGrants: before memory does.
func TestAFullJournalStopsNewGrants(t *testing.T) {
	w := newTown(t, 1)
	w.sell(t, 5)
	w.gate.full = true
	_, err := w.at(0, "ann")
	wantCode(t, err, rushgate.Overloaded)
}

// TestUnitsThatACrashStranded are found while nodes sell, and given back.
func TestUnitsThatACrashStranded(t *testing.T) {
	w := newTown(t, 2)
	w.sell(t, 5)
	if _, err := w.at(0, "ann"); err != nil {
		t.Fatal(err)
	}
	sale, err := w.ledger.Sale(ctx, "phones")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.gate.Restock(ctx, &rushgate.Restock{Sale: "phones", Item: "black", Add: -2, Epoch: sale.Epoch}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the journal is empty", func() bool { return len(w.open(t)) == 0 }) // ann's claim is settled after she has heard
	if r := w.audit(t); r.Healed != 2 {
		t.Fatalf("%+v", r)
	}
	if st := w.stock(t); st.Free != 4 || st.Unsettled != 0 {
		t.Fatalf("%+v", st)
	}
}

// TestAFreezeWaitsForWhatWasGranted: when it has answered, nothing comes after it.
func TestAFreezeWaitsForWhatWasGranted(t *testing.T) {
	w := newTown(t, 2)
	w.sell(t, 1000, func(s *rushgate.Sale) { s.PerUser = 0 })
	stop := make(chan struct{})
	var crowd sync.WaitGroup
	for i := range 4 {
		crowd.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					w.at(i%2, fmt.Sprint("user-", i))
				}
			}
		})
	}
	eventually(t, "some are sold", func() bool { return w.recorded(t) > 20 })
	if _, err := w.nodes[0].Freeze(ctx, "phones"); err != nil {
		t.Fatal(err)
	}
	after := w.recorded(t)
	close(stop)
	crowd.Wait()
	if n := w.recorded(t); n != after {
		t.Fatalf("%d were granted after the freeze", n-after)
	}
	w.audit(t)
}

// TestNobodyIsForgottenOnAGuess: a commit without an answer, in a ledger that
// cannot be asked, leaves the claim where it is. It is found again.
func TestNobodyIsForgottenOnAGuess(t *testing.T) {
	for _, committed := range []bool{true, false} {
		t.Run(fmt.Sprint("Committed=", committed), func(t *testing.T) {
			deaf := &deaf{committed: committed}
			w := newTown(t, 2, func(i int, cfg *rushgate.Config) {
				if i == 0 {
					deaf.Ledger = cfg.Ledger
					cfg.Ledger = deaf
				}
			})
			w.sell(t, 5)
			deaf.now.Store(true)
			_, err := w.at(0, "ann", "k")
			wantCode(t, err, rushgate.Unavailable)
			deaf.now.Store(false)
			if n := len(w.open(t)); n != 1 {
				t.Fatalf("%d claims in the journal", n)
			}
			w.clock.Add(time.Second)
			eventually(t, "the journal is empty", func() bool { return len(w.open(t)) == 0 })
			r, err := w.at(1, "ann", "k")
			if err != nil || !r.Replayed || w.recorded(t) != 1 {
				t.Fatalf("%+v, %v", r, err)
			}
			if report := w.audit(t); report.Healed != 0 {
				t.Fatalf("healed %+v", report)
			}
		})
	}
}

// deaf is a ledger that commits or not, and does not say so.
type deaf struct {
	rushgate.Ledger
	now       atomic.Bool
	committed bool
}

func (d *deaf) Record(ctx context.Context, b *rushgate.Batch) error {
	if d.now.Load() && d.committed {
		if err := d.Ledger.Record(ctx, b); err != nil {
			return err
		}
	}
	if d.now.Load() {
		return rushgate.ErrUnknown
	}
	return d.Ledger.Record(ctx, b)
}

func (d *deaf) Recorded(ctx context.Context, b *rushgate.Batch) (bool, error) {
	if d.now.Load() {
		return false, fmt.Errorf("the ledger cannot be reached")
	}
	return d.Ledger.Recorded(ctx, b)
}

// TestWhatEndsWhileTheGateIsBuilt is given back to the new picture.
func TestWhatEndsWhileTheGateIsBuilt(t *testing.T) {
	busy := &interrupted{}
	w := newTown(t, 2, func(i int, cfg *rushgate.Config) {
		if i == 0 {
			busy.Ledger = cfg.Ledger
		}
		cfg.Ledger = busy
	})
	w.sell(t, 5)
	r, err := w.at(0, "ann")
	if err != nil {
		t.Fatal(err)
	}
	var once sync.Once
	between := func() {
		once.Do(func() {
			if _, err := w.nodes[1].Release(ctx, r.Claim.ID); err != nil {
				t.Errorf("release: %v", err)
			}
		})
	}
	busy.between.Store(&between)
	w.gate.lose()
	eventually(t, "it sells again", func() bool { _, err := w.at(0, "bob"); return err == nil })
	eventually(t, "the unit is free again", func() bool { st := w.stock(t); return st.Free == 4 && st.Unsettled == 0 })
	if report := w.audit(t); report.Healed != 0 {
		t.Fatalf("healed %+v", report)
	}
}

// interrupted is a ledger that lets something happen between a snapshot and its use.
type interrupted struct {
	rushgate.Ledger
	between atomic.Pointer[func()]
}

func (l *interrupted) Snapshot(ctx context.Context, sale string, use func(rushgate.Snapshot) error) error {
	return l.Ledger.Snapshot(ctx, sale, func(s rushgate.Snapshot) error {
		if between := l.between.Load(); between != nil {
			(*between)()
		}
		return use(s)
	})
}

// held is a ledger that lets a batch wait, of those that a test picks.
type held struct {
	rushgate.Ledger
	pick    atomic.Pointer[func(*rushgate.Batch) bool]
	arrived chan struct{}
	goOn    chan struct{}
	once    sync.Once
}

func newHeld() *held { return &held{arrived: make(chan struct{}, 9), goOn: make(chan struct{})} }

func (h *held) Record(ctx context.Context, b *rushgate.Batch) error {
	if pick := h.pick.Load(); pick != nil && (*pick)(b) {
		h.arrived <- struct{}{}
		<-h.goOn
	}
	return h.Ledger.Record(ctx, b)
}

// release lets everything go on, now and when the test ends.
func (h *held) release() {
	h.once.Do(func() {
		h.hold(func(*rushgate.Batch) bool { return false })
		close(h.goOn)
	})
}

func (h *held) hold(pick func(*rushgate.Batch) bool) { h.pick.Store(&pick) }

func puts(b *rushgate.Batch) bool { _, ok := b.Steps[0].(*rushgate.Put); return ok }

func grants(b *rushgate.Batch) bool { _, ok := b.Steps[0].(*rushgate.Grant); return ok }

// TestAMendInTheMiddleOfABatch: what the mend has recorded is granted, and the
// gate keeps it.
func TestAMendInTheMiddleOfABatch(t *testing.T) {
	slow := newHeld()
	w := newTown(t, 2, func(i int, cfg *rushgate.Config) {
		cfg.AdoptAfter = time.Minute
		if i == 0 {
			slow.Ledger = cfg.Ledger
			cfg.Ledger = slow
		}
	})
	w.sell(t, 5)
	t.Cleanup(slow.release)
	slow.hold(grants)
	type answer struct {
		rushgate.Receipt
		err error
	}
	answers := make(chan answer, 1)
	go func() { r, err := w.at(0, "ann", "k"); answers <- answer{r, err} }()
	<-slow.arrived
	two := int64(2)
	if _, err := w.nodes[1].ChangeSale(ctx, "phones", rushgate.SaleChange{PerUser: &two}); err != nil {
		t.Fatal(err)
	}
	slow.release()
	if a := <-answers; a.err != nil || a.Claim.User != "ann" || w.recorded(t) != 1 {
		t.Fatalf("%+v, %d recorded", a, w.recorded(t))
	}
	if r := w.audit(t); r.Healed != 0 || w.stock(t).Free != 4 {
		t.Fatalf("%+v, %+v", r, w.stock(t))
	}
}

// TestAMendRevokesNothingThatItsNodeIsRecording: at accepted, two record the
// same claims at the same time, and both are right.
func TestAMendRevokesNothingThatItsNodeIsRecording(t *testing.T) {
	slow := newHeld()
	w := newTown(t, 2, func(i int, cfg *rushgate.Config) {
		cfg.AdoptAfter = time.Minute
		if i == 0 {
			slow.Ledger = cfg.Ledger
			cfg.Ledger = slow
		}
	})
	w.sell(t, 5, func(s *rushgate.Sale) { s.Ack = rushgate.Accepted })
	t.Cleanup(slow.release)
	slow.hold(grants)
	var told []rushgate.Claim
	for _, user := range []string{"ann", "bob", "cy"} {
		r, err := w.at(0, user)
		if err != nil {
			t.Fatal(err)
		}
		told = append(told, r.Claim)
	}
	<-slow.arrived
	sale, err := w.ledger.Sale(ctx, "phones")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.gate.Restock(ctx, &rushgate.Restock{Sale: "phones", Item: "black", Add: 4, Epoch: sale.Epoch}); err != nil {
		t.Fatal(err) // more generous than the ledger: the auditor mends it
	}
	report, err := w.nodes[1].Audit(ctx, "phones")
	if err != nil || report.OK {
		t.Fatalf("%+v, %v", report, err)
	}
	slow.release()
	eventually(t, "the journal is empty", func() bool { return len(w.open(t)) == 0 })
	for _, c := range told {
		if got, err := w.nodes[1].Get(ctx, c.ID); err != nil || got.State != rushgate.Held {
			t.Errorf("%s was told %d, and it is %+v, %v", c.User, c.ID, got, err)
		}
	}
	w.audit(t)
}

// slowReplicas is a gate whose replicas never answer in time: buyers wait for the ledger.
type slowReplicas struct{ *commons }

func (g slowReplicas) Claim(ctx context.Context, now time.Time, asks []rushgate.Ask, out []rushgate.Decision) error {
	err := g.commons.Claim(ctx, now, asks, out)
	for i := range out {
		out[i].Early = false
	}
	return err
}

// TestNobodyIsToldOfARevokedClaim: a node is slow to record a claim, and a mender
// writes it down as revoked. Its buyer, who still waits, hears that there is none.
func TestNobodyIsToldOfARevokedClaim(t *testing.T) {
	slow := newHeld()
	w := newTown(t, 1, func(_ int, cfg *rushgate.Config) {
		cfg.AdoptAfter = time.Minute
		slow.Ledger, cfg.Ledger, cfg.Gate = cfg.Ledger, slow, slowReplicas{cfg.Gate.(*commons)}
	})
	w.sell(t, 5, func(s *rushgate.Sale) { s.Ack = rushgate.Replicated })
	t.Cleanup(slow.release)
	slow.hold(grants)
	answer := make(chan error, 1)
	go func() { _, err := w.at(0, "ann"); answer <- err }()
	<-slow.arrived
	lost := w.open(t)
	if err := w.ledger.Record(ctx, &rushgate.Batch{ID: 1, At: w.clock.Now(), Steps: []rushgate.Step{&rushgate.Revoke{Sale: "phones", Claims: lost}}}); err != nil {
		t.Fatal(err)
	}
	if err := w.gate.Forget(ctx, lost); err != nil {
		t.Fatal(err)
	}
	slow.release()
	wantCode(t, <-answer, rushgate.Unavailable)
	if _, err := w.at(0, "ann"); err != nil {
		t.Fatal(err)
	}
	w.audit(t)
}

// TestNobodyHearsOfAnothersClaim: not even if two nodes ever make the same id.
func TestNobodyHearsOfAnothersClaim(t *testing.T) {
	w := newTown(t, 2, func(i int, cfg *rushgate.Config) {
		cfg.Node, cfg.Random = 7, func() uint64 { return 1 << 60 } // two nodes that make the same ids
	})
	w.sell(t, 5)
	for i, user := range []string{"ann", "bob"} {
		r, err := w.at(i, user)
		if err == nil && r.Claim.User != user {
			t.Fatalf("%s hears of %+v", user, r.Claim)
		}
	}
}
