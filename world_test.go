package rushgate_test

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"os"
	"sync"
	"testing"
	"time"

	"rushgate"
	"rushgate/gate/memory"
	"rushgate/ledger/sqlite"
)

// TestMain bounds the random histories: each of their steps is a commit, and
// some of them start a service anew.
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", "40"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// clock is time that a test moves.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: time.Date(2026, 11, 11, 0, 0, 0, 0, time.UTC)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// world is a service on the real memory gate and the real SQLite ledger, which
// can be stopped and started again on the same folder.
type world struct {
	dir    string
	clock  *clock
	ledger rushgate.Ledger
	shop   *rushgate.Service

	// wrap, when set, puts something between the service and its parts.
	wrapLedger func(rushgate.Ledger) rushgate.Ledger
	wrapGate   func(rushgate.Gate) rushgate.Gate
	queueLimit int
	observe    rushgate.Observer

	// A test sweeps and audits when it wants to, unless it sets these.
	sweepEvery, auditEvery time.Duration
}

var ctx = context.Background()

// open starts the world, or starts it again.
func (w *world) open() error {
	ledger, err := sqlite.Open(ctx, w.dir, sqlite.Options{})
	if err != nil {
		return err
	}
	w.ledger = ledger
	var used rushgate.Ledger = ledger
	if w.wrapLedger != nil {
		used = w.wrapLedger(ledger)
	}
	var gate rushgate.Gate = memory.New()
	if w.wrapGate != nil {
		gate = w.wrapGate(gate)
	}
	w.shop, err = rushgate.Open(ctx, rushgate.Config{Gate: gate, Ledger: used, Now: w.clock.Now,
		QueueLimit: w.queueLimit, Observe: w.observe,
		SweepEvery: cmp.Or(w.sweepEvery, time.Hour), AuditEvery: cmp.Or(w.auditEvery, time.Hour)})
	return err
}

func (w *world) close() error {
	return errors.Join(w.shop.Close(ctx), w.ledger.Close())
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{dir: t.TempDir(), clock: newClock()}
	w.start(t)
	return w
}

func (w *world) start(t *testing.T) {
	t.Helper()
	if err := w.open(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.close() })
}

func (w *world) restart(t *testing.T) {
	t.Helper()
	if err := w.close(); err != nil {
		t.Fatal(err)
	}
	if err := w.open(); err != nil {
		t.Fatal(err)
	}
}

// sell makes a sale of one item with so many units.
func (w *world) sell(t *testing.T, stock int64, edit ...func(*rushgate.Sale)) {
	t.Helper()
	s := rushgate.Sale{ID: "phones", Name: "Phones", PerUser: 1, Hold: 15 * time.Minute,
		Items: []rushgate.Item{{ID: "black", Name: "Black", Stock: stock}}}
	for _, e := range edit {
		e(&s)
	}
	if _, err := w.shop.CreateSale(ctx, s); err != nil {
		t.Fatal(err)
	}
}

func (w *world) claim(user string) (rushgate.Receipt, error) {
	return w.shop.Claim(ctx, rushgate.ClaimRequest{Sale: "phones", User: user})
}

func (w *world) mustClaim(t *testing.T, user string) rushgate.Claim {
	t.Helper()
	r, err := w.claim(user)
	if err != nil {
		t.Fatalf("claim of %s: %v", user, err)
	}
	return r.Claim
}

// wantCode fails unless err is the refusal of that code ("" for none).
func wantCode(t *testing.T, err error, code rushgate.Code) {
	t.Helper()
	if got := rushgate.CodeOf(err); got != code {
		t.Fatalf("got %q (%v), want %q", got, err, code)
	}
}

// audit fails the test unless every invariant holds.
func (w *world) audit(t *testing.T) *rushgate.Report {
	t.Helper()
	r, err := w.shop.Audit(ctx, "phones")
	if err != nil {
		t.Fatal(err)
	}
	if !r.OK {
		t.Fatalf("audit: %+v", r.Failed())
	}
	return r
}

// stock returns the stock of the only item.
func (w *world) stock(t *testing.T) rushgate.StockView {
	t.Helper()
	views, _, err := w.shop.Stock(ctx, "phones")
	if err != nil {
		t.Fatal(err)
	}
	return views[0]
}
