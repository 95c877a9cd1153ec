package rushgate_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"rushgate"
)

// longLoad is a shared gate whose load takes as long as those who mend look at it
// so many times. A load under a later epoch takes the gate from one before it.
type longLoad struct {
	*commons
	turns int // looks that a load takes
	crowd int // claims that are told that the gate has forgotten, before a load begins

	mu      sync.Mutex
	moved   *sync.Cond
	had     int64 // the epoch that was loaded last
	loading int64 // the epoch that is being loaded
	looks   int   // since that began
}

func newLongLoad(c *commons) *longLoad {
	g := &longLoad{commons: c}
	g.moved = sync.NewCond(&g.mu)
	return g
}

func (g *longLoad) Mark(ctx context.Context, sale string) (rushgate.Mark, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.looks++
	g.moved.Broadcast()
	return g.commons.Mark(ctx, sale)
}

func (g *longLoad) Claim(ctx context.Context, now time.Time, asks []rushgate.Ask, out []rushgate.Decision) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.loading > g.had {
		out[0] = rushgate.Decision{Code: rushgate.Unavailable}
		return nil
	}
	err := g.commons.Claim(ctx, now, asks, out)
	if out[0].Code == rushgate.NotFound {
		out[0] = rushgate.Decision{Code: rushgate.Forgot, Epoch: g.had}
		g.crowd--
		g.moved.Broadcast()
	}
	return err
}

func (g *longLoad) Load(ctx context.Context, s rushgate.Snapshot) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	defer context.AfterFunc(ctx, g.moved.Broadcast)()
	for g.crowd > 0 && ctx.Err() == nil {
		g.moved.Wait()
	}
	if g.loading >= s.Sale.Epoch {
		return rushgate.ErrStale
	}
	g.loading, g.looks = s.Sale.Epoch, 0
	g.moved.Broadcast()
	for g.looks < g.turns && g.loading == s.Sale.Epoch && ctx.Err() == nil {
		g.moved.Wait()
	}
	switch {
	case g.loading != s.Sale.Epoch:
		return rushgate.ErrStale
	case ctx.Err() != nil:
		return ctx.Err()
	}
	g.had = s.Sale.Epoch
	return g.commons.Load(ctx, s)
}

// TestALongLoadIsNotTakenAway: two nodes notice that the gate has forgotten. One
// loads it, for many turns of the other, which waits.
func TestALongLoadIsNotTakenAway(t *testing.T) {
	var gate *longLoad
	w := newTown(t, 2, func(i int, cfg *rushgate.Config) {
		if i == 0 {
			gate = newLongLoad(cfg.Gate.(*commons))
		}
		cfg.Gate, cfg.Chores = gate, func() bool { return false } // only who mends looks
	})
	w.sell(t, 5)
	gate.mu.Lock()
	gate.turns, gate.crowd = 5, 2
	gate.mu.Unlock()
	w.gate.lose()
	for node, user := range []string{"ann", "bob"} {
		_, err := w.at(node, user)
		wantCode(t, err, rushgate.Unavailable)
	}
	eventually(t, "it sells again", func() bool {
		sale, err := w.ledger.Sale(ctx, "phones")
		if err != nil || sale.Epoch > 3 {
			t.Fatalf("they take the load from each other: %+v, %v", sale, err)
		}
		_, err = w.at(1, "ann")
		return err == nil
	})
	w.audit(t)
}

// undrained is a gate of which nobody drains the journal before a moment: a mender
// that loses patience in real time must not come before a test has looked.
type undrained struct {
	*commons
	until <-chan struct{}
}

func (u undrained) Orphans(ctx context.Context, sale string, age time.Duration, limit int) ([]rushgate.Claim, int64, error) {
	if age == 0 {
		<-u.until
	}
	return u.commons.Orphans(ctx, sale, age, limit)
}

// TestNobodyHearsEarlyOfAnEpochThatIsOver: a mender took the next epoch and died. The
// gate grants by the old one, which the ledger refuses: whoever finds that out
// tells no buyer yes any more.
func TestNobodyHearsEarlyOfAnEpochThatIsOver(t *testing.T) {
	asked := make(chan struct{})
	w := newTown(t, 1, func(_ int, cfg *rushgate.Config) {
		cfg.Gate, cfg.FollowEvery = undrained{cfg.Gate.(*commons), asked}, time.Hour
	})
	ask := sync.OnceFunc(func() { close(asked) })
	t.Cleanup(ask)
	w.sell(t, 500, func(s *rushgate.Sale) { s.Ack = rushgate.Accepted })
	if _, _, err := w.ledger.Fence(ctx, "phones", 0); err != nil {
		t.Fatal(err)
	}
	told, user := 0, 0
	next := func() error { user++; _, err := w.at(0, fmt.Sprint("user-", user)); return err }
	for ; next() == nil; told++ {
		if told == 400 {
			t.Fatal("every buyer is told yes, and nothing is recorded")
		}
	}
	for range 10 {
		wantCode(t, next(), rushgate.Unavailable)
	}
	ask()
	eventually(t, "who was told is told again", func() bool {
		revoked, err := w.ledger.Claims(ctx, rushgate.ClaimQuery{Sale: "phones", State: rushgate.Revoked, Limit: 1000})
		return err == nil && len(revoked) == told
	})
}

// fencing is a ledger that lets something happen before the next epoch is taken.
type fencing struct {
	rushgate.Ledger
	before atomic.Pointer[func()]
}

func (f *fencing) Fence(ctx context.Context, sale string, was int64) (*rushgate.Sale, bool, error) {
	if before := f.before.Load(); before != nil {
		(*before)()
	}
	return f.Ledger.Fence(ctx, sale, was)
}

// TestAMendTellsNobodyYesThatItWillRevoke: while one node mends a gate that still
// grants, buyers ask others. Nobody is told of a claim that is then revoked.
func TestAMendTellsNobodyYesThatItWillRevoke(t *testing.T) {
	slow, mender := newHeld(), &fencing{}
	w := newTown(t, 3, func(i int, cfg *rushgate.Config) {
		if i == 0 {
			slow.Ledger, mender.Ledger, cfg.Ledger = cfg.Ledger, cfg.Ledger, mender
		} else {
			cfg.Ledger = slow
		}
	})
	w.sell(t, 5, func(s *rushgate.Sale) { s.Ack = rushgate.Accepted })
	t.Cleanup(slow.release)
	slow.hold(grants)
	var told []rushgate.Claim
	ask := func(node int, user string) {
		r, err := w.at(node, user)
		if err == nil {
			told = append(told, r.Claim)
		}
		if rushgate.CodeOf(err) == rushgate.Frozen {
			t.Errorf("%s hears that an operator froze the sale: it is being mended", user)
		}
	}
	ask(1, "ann")
	var once sync.Once
	late := func() { once.Do(func() { ask(2, "bob") }) }
	mender.before.Store(&late)
	sale, err := w.ledger.Sale(ctx, "phones")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.gate.Restock(ctx, &rushgate.Restock{Sale: "phones", Item: "black", Add: 4, Epoch: sale.Epoch}); err != nil {
		t.Fatal(err) // more generous than the ledger: the auditor mends it
	}
	if report, err := w.nodes[0].Audit(ctx, "phones"); err != nil || report.OK {
		t.Fatalf("%+v, %v", report, err)
	}
	slow.release()
	eventually(t, "it sells again", func() bool { _, err := w.at(0, "cy"); return err == nil })
	eventually(t, "the journal is empty", func() bool { return len(w.open(t)) == 0 })
	for _, c := range told {
		if got, err := w.nodes[0].Get(ctx, c.ID); err != nil || got.State != rushgate.Held {
			t.Errorf("%s was told %d, and it is %+v, %v", c.User, c.ID, got, err)
		}
	}
	w.audit(t)
}

// TestOneClaimTooManyCostsNobodyElseTheirs: a gate was more generous than the ledger,
// and told three buyers of two units. The ledger refuses one of them, not all.
func TestOneClaimTooManyCostsNobodyElseTheirs(t *testing.T) {
	for name, away := range map[string]bool{"the ledger is there": false, "the ledger was away": true} {
		t.Run(name, func(t *testing.T) {
			lazy := &slow{}
			if away {
				lazy.fail = fmt.Errorf("the ledger is away")
			}
			w := newTown(t, 1, func(_ int, cfg *rushgate.Config) {
				lazy.Ledger = cfg.Ledger
				cfg.Ledger, cfg.Chores = lazy, func() bool { return false }
			})
			w.sell(t, 2, func(s *rushgate.Sale) { s.Ack = rushgate.Accepted })
			if _, err := w.gate.Restock(ctx, &rushgate.Restock{Sale: "phones", Item: "black", Add: 1, Epoch: 1}); err != nil {
				t.Fatal(err)
			}
			standing := lazy.hold()
			told, err := w.nodes[0].ClaimBatch(ctx, []rushgate.ClaimRequest{{Sale: "phones", User: "ann"}, {Sale: "phones", User: "bob"}, {Sale: "phones", User: "cy"}})
			if err != nil {
				t.Fatal(err)
			}
			<-standing.arrived
			close(standing.goOn)
			states := map[rushgate.State]int{}
			eventually(t, "everybody's claim is written down", func() bool {
				clear(states)
				for _, r := range told {
					if c, err := w.ledger.Claim(ctx, r.Claim.ID); err == nil {
						states[c.State]++
					}
				}
				return states[rushgate.Held]+states[rushgate.Revoked] == 3
			})
			if states[rushgate.Held] != 2 {
				t.Errorf("of three claims on two units became %v", states)
			}
		})
	}
}

// absent is a ledger that cannot be read while it is away.
type absent struct {
	rushgate.Ledger
	away  atomic.Bool
	tries atomic.Int64
}

func (a *absent) Sale(ctx context.Context, id string) (*rushgate.Sale, error) {
	a.tries.Add(1)
	if a.away.Load() {
		return nil, fmt.Errorf("the ledger is away")
	}
	return a.Ledger.Sale(ctx, id)
}

// lines counts what is logged.
type lines struct {
	mu    sync.Mutex
	times map[string]int
}

func (l *lines) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.times[string(line)]++
	return len(line), nil
}

// told is how often a message was logged.
func (l *lines) told(message string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.times[fmt.Sprintf("msg=%q\n", message)]
}

// TestAnErrorThatStaysIsToldOnce: and that it is over, too.
func TestAnErrorThatStaysIsToldOnce(t *testing.T) {
	ledger, log := &absent{}, &lines{times: map[string]int{}}
	w := newTown(t, 1, func(_ int, cfg *rushgate.Config) {
		ledger.Ledger = cfg.Ledger
		cfg.Ledger, cfg.Chores, cfg.FollowEvery = ledger, func() bool { return false }, time.Hour
		cfg.Log = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key != slog.MessageKey {
				return slog.Attr{}
			}
			return a
		}}))
	})
	w.sell(t, 5)
	ledger.away.Store(true)
	w.gate.lose()
	_, err := w.at(0, "ann")
	wantCode(t, err, rushgate.Unavailable)
	eventually(t, "it was tried again and again", func() bool { return ledger.tries.Load() > 5 })
	ledger.away.Store(false)
	eventually(t, "it is over", func() bool { return log.told("it is over that the gate could not be mended") == 1 })
	if n := log.told("the gate could not be mended; trying again"); n != 1 {
		t.Errorf("one error was told %d times", n)
	}
}

// looked is a shared gate that lets something happen after it was counted.
type looked struct {
	*commons
	counted atomic.Pointer[func()]
	looks   atomic.Int64
}

func (l *looked) Count(ctx context.Context, sale string) ([]rushgate.Count, error) {
	l.looks.Store(0)
	return l.commons.Count(ctx, sale)
}

func (l *looked) Mark(ctx context.Context, sale string) (rushgate.Mark, error) {
	if after := l.counted.Load(); after != nil && l.looks.Add(1) == 2 { // the first look is still about the count
		(*after)()
	}
	return l.commons.Mark(ctx, sale)
}

// TestAnAuditDoubtsWhatItHasSeen: two auditors find the same fault. The second one
// does not mend what the first one has built anew.
func TestAnAuditDoubtsWhatItHasSeen(t *testing.T) {
	gate := &looked{}
	w := newTown(t, 2, func(i int, cfg *rushgate.Config) {
		cfg.Chores = func() bool { return false }
		if i == 1 {
			gate.commons = cfg.Gate.(*commons)
			cfg.Gate = gate
		}
	})
	w.sell(t, 5)
	if _, err := w.gate.Restock(ctx, &rushgate.Restock{Sale: "phones", Item: "black", Add: 4, Epoch: 1}); err != nil {
		t.Fatal(err)
	}
	var once sync.Once
	other := func() { once.Do(func() { w.nodes[0].Audit(ctx, "phones") }) }
	gate.counted.Store(&other)
	if report, err := w.nodes[1].Audit(ctx, "phones"); err != nil || report.OK {
		t.Fatalf("%+v, %v", report, err)
	}
	if sale, err := w.ledger.Sale(ctx, "phones"); err != nil || sale.Epoch != 2 {
		t.Fatalf("one fault was mended more than once: %+v, %v", sale, err)
	}
	w.audit(t)
}
