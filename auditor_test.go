package rushgate_test

import (
	"strings"
	"testing"
	"time"

	"rushgate"
)

// lossy is a gate from which a test can steal.
type lossy struct{ rushgate.Gate }

// newLossyWorld is a world with a gate that can be made to differ from the ledger.
func newLossyWorld(t *testing.T) (*world, *lossy) {
	t.Helper()
	g := &lossy{}
	w := &world{dir: t.TempDir(), clock: newClock()}
	w.wrapGate = func(inner rushgate.Gate) rushgate.Gate { g.Gate = inner; return g }
	w.start(t)
	return w, g
}

func check(t *testing.T, r *rushgate.Report, name string) rushgate.Check {
	t.Helper()
	for _, c := range r.Checks {
		if c.Name == name {
			return c
		}
	}
	t.Fatalf("no check %s in %+v", name, r.Checks)
	return rushgate.Check{}
}

func TestStrandedUnitsAreHealedAndTold(t *testing.T) {
	w, g := newLossyWorld(t)
	w.sell(t, 10)
	w.mustClaim(t, "ann")
	if enough, err := g.Restock(ctx, &rushgate.Restock{Sale: "phones", Item: "black", Add: -4}); err != nil || !enough {
		t.Fatal(enough, err)
	}
	r := w.audit(t)
	if c := check(t, r, "nothing_stranded"); r.Healed != 4 || !strings.Contains(c.Detail, "4 units") {
		t.Fatalf("healed %d, %+v, want 4", r.Healed, c)
	}
	if v := w.stock(t); v.Free != 9 || v.Unsettled != 0 {
		t.Fatalf("stock %+v", v)
	}
	if r := w.audit(t); r.Healed != 0 {
		t.Fatalf("healed %d more", r.Healed)
	}
}

func TestAGenerousGateIsReportedAndMended(t *testing.T) {
	w, g := newLossyWorld(t)
	w.sell(t, 1)
	w.mustClaim(t, "ann")
	if _, err := g.Restock(ctx, &rushgate.Restock{Sale: "phones", Item: "black", Add: 3}); err != nil {
		t.Fatal(err)
	}
	r, err := w.shop.Audit(ctx, "phones")
	if err != nil {
		t.Fatal(err)
	}
	if c := check(t, r, "gate_not_more_generous"); r.OK || c.OK {
		t.Fatalf("%+v, want it to fail", r)
	}
	w.audit(t)
	_, err = w.claim("bob")
	wantCode(t, err, rushgate.SoldOut)
}

// The auditor that runs by itself finds what is stranded.
func TestTheAuditorRunsByItself(t *testing.T) {
	g := &lossy{}
	w := &world{dir: t.TempDir(), clock: newClock(), auditEvery: 5 * time.Millisecond}
	w.wrapGate = func(inner rushgate.Gate) rushgate.Gate { g.Gate = inner; return g }
	seen := newWitness()
	w.observe = seen
	w.start(t)
	w.sell(t, 10)
	seen.next(t, seen.reports)
	for range 3 { // also long after the sale has changed last
		if _, err := g.Restock(ctx, &rushgate.Restock{Sale: "phones", Item: "black", Add: -1}); err != nil {
			t.Fatal(err)
		}
		seen.next(t, seen.healed)
	}
}

// The sweeper that runs by itself gives the units of the dead back.
func TestTheSweeperRunsByItself(t *testing.T) {
	seen := newWitness()
	w := &world{dir: t.TempDir(), clock: newClock(), sweepEvery: time.Millisecond, observe: seen}
	w.start(t)
	w.sell(t, 1)
	c := w.mustClaim(t, "ann")
	w.clock.Add(16 * time.Minute)
	<-seen.swept
	got, err := w.shop.Get(ctx, c.ID)
	if err != nil || got.State != rushgate.ExpiredState {
		t.Fatalf("%+v, %v", got, err)
	}
	w.mustClaim(t, "ann") // the slot and the unit are free
}

// Whoever looks at a claim whose time is over sees that it is, before the
// sweeper has been there.
func TestAClaimHasExpiredForWhoeverLooksFirst(t *testing.T) {
	w := newWorld(t)
	w.sell(t, 1)
	c := w.mustClaim(t, "ann")
	w.clock.Add(15 * time.Minute)
	got, err := w.shop.Get(ctx, c.ID)
	if err != nil || got.State != rushgate.ExpiredState {
		t.Fatalf("%+v, %v", got, err)
	}
	w.mustClaim(t, "bob")
	w.audit(t)
}

// witness sees what happens: the first report that nobody has looked at, and the
// first one that tells of something healed. Those without must not hide it.
type witness struct {
	rushgate.Unobserved
	reports, healed chan *rushgate.Report
	swept           chan int
}

func newWitness() *witness {
	return &witness{reports: make(chan *rushgate.Report, 1), healed: make(chan *rushgate.Report, 1), swept: make(chan int, 1)}
}

func (w *witness) Audited(r *rushgate.Report) {
	to := w.reports
	if r.Healed > 0 {
		to = w.healed
	}
	select {
	case to <- r:
	default:
	}
}

func (w *witness) Swept(n int) {
	if n > 0 {
		select {
		case w.swept <- n:
		default:
		}
	}
}

func (w *witness) next(t *testing.T, reports <-chan *rushgate.Report) {
	t.Helper()
	select {
	case <-reports:
	case <-time.After(30 * time.Second):
		t.Fatal("nobody audits, or nothing is healed")
	}
}
