package rushgate_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"rushgate"
)

// Operators at several nodes.

// TestTheHoldOfAClaimIsThatOfItsMoment: a rule changed at one node holds for the
// next claim at another.
func TestTheHoldOfAClaimIsThatOfItsMoment(t *testing.T) {
	w := newTown(t, 2, func(_ int, cfg *rushgate.Config) { cfg.FollowEvery = time.Hour })
	w.sell(t, 5)
	for i := range 4 {
		hold := time.Duration(i+1) * time.Minute
		if _, err := w.nodes[i%2].ChangeSale(ctx, "phones", rushgate.SaleChange{Hold: &hold}); err != nil {
			t.Fatal(err)
		}
		r, err := w.at((i+1)%2, fmt.Sprint("user-", i))
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Claim.ExpiresAt.Sub(r.Claim.CreatedAt); got != hold {
			t.Fatalf("held for %s, want %s", got, hold)
		}
	}
}

// nobodyMends keeps a node from mending until the channel is closed. A gate whose rules
// the ledger does not have is mended after two seconds of real time, in which a busy
// machine may not have come to what a test looks at. A mend begins with rules that are
// made from no others, or with the next epoch.
func nobodyMends(cfg *rushgate.Config, until <-chan struct{}) {
	later := &fencing{Ledger: cfg.Ledger}
	wait := func() { <-until }
	later.before.Store(&wait)
	cfg.Gate, cfg.Ledger = unhalted{cfg.Gate.(*commons), until}, later
}

// unhalted is a gate that nobody has stand still before a moment.
type unhalted struct {
	*commons
	until <-chan struct{}
}

func (u unhalted) Put(ctx context.Context, p *rushgate.Put) error {
	if p.Was == 0 {
		<-u.until
	}
	return u.commons.Put(ctx, p)
}

// TestABuyerHearsOfTheHoldThatIsRecorded: also at accepted, and while an operator's
// change is at the gate and not in the ledger.
func TestABuyerHearsOfTheHoldThatIsRecorded(t *testing.T) {
	granting, changing := newHeld(), newHeld()
	compared := make(chan struct{})
	w := newTown(t, 2, func(i int, cfg *rushgate.Config) {
		nobodyMends(cfg, compared)
		if i == 0 {
			granting.Ledger = cfg.Ledger
			cfg.Ledger, cfg.Chores = granting, func() bool { return false }
		} else {
			changing.Ledger = cfg.Ledger
			cfg.Ledger = changing
		}
	})
	compare := sync.OnceFunc(func() { close(compared) })
	t.Cleanup(compare)
	w.sell(t, 5, func(s *rushgate.Sale) { s.Ack = rushgate.Accepted })
	t.Cleanup(granting.release)
	t.Cleanup(changing.release)
	granting.hold(grants)
	changing.hold(puts)
	changed := make(chan error, 1)
	hold := time.Hour
	go func() {
		_, err := w.nodes[1].ChangeSale(ctx, "phones", rushgate.SaleChange{Hold: &hold})
		changed <- err
	}()
	<-changing.arrived // at the gate, and not in the ledger
	told := make(chan rushgate.Receipt, 1)
	go func() { r, _ := w.at(0, "ann"); told <- r }()
	<-granting.arrived
	w.clock.Add(time.Second)
	eventually(t, "the claim is adopted", func() bool { return w.recorded(t) == 1 })
	granting.release()
	heard := (<-told).Claim
	if c, err := w.ledger.Claim(ctx, heard.ID); err != nil || !c.ExpiresAt.Equal(heard.ExpiresAt) {
		t.Errorf("told to be held until %s, and it is %+v, %v", heard.ExpiresAt, c, err)
	}
	changing.release()
	if err := <-changed; err != nil {
		t.Fatal(err)
	}
	compare()
	w.audit(t)
}

// TestOperatorsAtSeveralNodes: changes made at the same time are all made.
func TestOperatorsAtSeveralNodes(t *testing.T) {
	w := newTown(t, 3)
	w.sell(t, 10)
	var all sync.WaitGroup
	for i, node := range w.nodes {
		all.Go(func() {
			for n := range 5 {
				name := fmt.Sprintf("name %d of %d", n, i)
				if _, err := node.ChangeSale(ctx, "phones", rushgate.SaleChange{Name: &name}); err != nil {
					t.Errorf("change: %v", err)
				}
				if _, err := node.Restock(ctx, "phones", "black", 2); err != nil {
					t.Errorf("restock: %v", err)
				}
				if _, err := node.Restock(ctx, "phones", "black", -1); err != nil {
					t.Errorf("take back: %v", err)
				}
			}
		})
	}
	all.Wait()
	if st := w.stock(t); st.Total != 25 || st.Free != 25 {
		t.Fatalf("stock %+v", st)
	}
	sale, err := w.ledger.Sale(ctx, "phones")
	if err != nil || sale.Version < 16 {
		t.Fatalf("%+v, %v", sale, err)
	}
	w.audit(t)
}

// afterwards is a ledger that lets something happen after a restock was recorded, and
// before its node hears of that.
type afterwards struct {
	rushgate.Ledger
	before, after func()
}

func (a *afterwards) Record(ctx context.Context, b *rushgate.Batch) error {
	if _, ok := b.Steps[0].(*rushgate.Restock); !ok {
		return a.Ledger.Record(ctx, b)
	}
	a.before()
	err := a.Ledger.Record(ctx, b)
	a.after()
	return err
}

// TestTwoRestocksAreBothShown: whichever node was slower with its own.
func TestTwoRestocksAreBothShown(t *testing.T) {
	between := &afterwards{}
	w := newTown(t, 2, func(i int, cfg *rushgate.Config) {
		if i == 1 {
			between.Ledger = cfg.Ledger
			cfg.Ledger = between
		}
	})
	w.sell(t, 10)
	shown := func() int64 {
		sale, err := w.nodes[1].Sale(ctx, "phones")
		if err != nil {
			t.Fatal(err)
		}
		return sale.Items[0].Stock
	}
	between.before = func() {
		if _, err := w.nodes[0].Restock(ctx, "phones", "black", 100); err != nil {
			t.Errorf("restock: %v", err)
		}
	}
	between.after = func() { eventually(t, "the second node has seen both", func() bool { return shown() == 109 }) }
	if sale, err := w.nodes[1].Restock(ctx, "phones", "black", -1); err != nil || sale.Items[0].Stock != 109 || shown() != 109 {
		t.Fatalf("%+v, %v; %d units are shown", sale, err, shown())
	}
	w.audit(t)
}

// TestTheLimitChangesForAllNodes: wider at any time, narrower only before
// anybody has a claim, and between a limit and none.
func TestTheLimitChangesForAllNodes(t *testing.T) {
	for _, ack := range []rushgate.Ack{rushgate.Recorded, rushgate.Accepted} {
		t.Run(string(ack), func(t *testing.T) { changeTheLimit(t, ack) })
	}
}

func changeTheLimit(t *testing.T, ack rushgate.Ack) {
	w := newTown(t, 2)
	w.sell(t, 20, func(s *rushgate.Sale) { s.Ack = ack })
	limit := func(node int, n int64) error {
		_, err := w.nodes[node].ChangeSale(ctx, "phones", rushgate.SaleChange{PerUser: &n})
		return err
	}
	for i, n := range []int64{3, 0, 2, 1, 2} {
		if err := limit(i%2, n); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 2 {
		if _, err := w.at(i, "ann"); err != nil {
			t.Fatal(err)
		}
	}
	_, err := w.at(0, "ann")
	wantCode(t, err, rushgate.LimitReached)
	wantCode(t, limit(1, 1), rushgate.WrongState)
	if err := limit(0, 0); err != nil {
		t.Fatal(err)
	}
	for i := range 4 {
		if _, err := w.at(i%2, "ann"); err != nil {
			t.Fatal(err)
		}
	}
	w.audit(t)
	sale, err := w.ledger.Sale(ctx, "phones")
	if err != nil || sale.Epoch != 1+7 {
		t.Errorf("the gate was built anew %d times for 6 changes and one that was refused, %v", sale.Epoch-1, err)
	}
}

// TestNoChangeUndoesAFreeze: another operator's change that began before the
// freeze and ends after it, in whatever way, does not open the sale.
func TestNoChangeUndoesAFreeze(t *testing.T) {
	slow := newHeld()
	over := make(chan struct{})
	w := newTown(t, 2, func(i int, cfg *rushgate.Config) {
		nobodyMends(cfg, over)
		if i == 1 {
			slow.Ledger = cfg.Ledger
			cfg.Ledger = slow
		}
	})
	t.Cleanup(func() { close(over) })
	w.sell(t, 5)
	t.Cleanup(slow.release)
	slow.hold(puts)
	frozen := make(chan error, 1)
	go func() { _, err := w.nodes[1].Freeze(ctx, "phones"); frozen <- err }()
	<-slow.arrived // at the gate, and not in the ledger
	caller, leave := context.WithCancel(ctx)
	changed := make(chan error, 1)
	name := "another name"
	go func() {
		_, err := w.nodes[0].ChangeSale(caller, "phones", rushgate.SaleChange{Name: &name})
		changed <- err
	}()
	_, err := w.at(0, "ann")
	wantCode(t, err, rushgate.Unavailable) // it is not frozen before the ledger has it
	leave()
	wantCode(t, <-changed, rushgate.Unavailable)
	slow.release()
	if err := <-frozen; err != nil {
		t.Fatal(err)
	}
	_, err = w.at(0, "ann")
	wantCode(t, err, rushgate.Frozen)
	if sale, err := w.ledger.Sale(ctx, "phones"); err != nil || !sale.Frozen {
		t.Fatalf("%+v, %v", sale, err)
	}
}

// TestAnOperatorWhoDiesInTheMiddle: the gate has rules that the ledger will
// never have. They do not stay.
func TestAnOperatorWhoDiesInTheMiddle(t *testing.T) {
	asked := make(chan struct{})
	w := newTown(t, 2, func(_ int, cfg *rushgate.Config) { nobodyMends(cfg, asked) })
	ask := sync.OnceFunc(func() { close(asked) })
	t.Cleanup(ask)
	w.sell(t, 5)
	sale, err := w.ledger.Sale(ctx, "phones")
	if err != nil {
		t.Fatal(err)
	}
	sale.Frozen, sale.Version = true, sale.Version+1
	if err := w.gate.Put(ctx, &rushgate.Put{Sale: sale, Was: sale.Version - 1}); err != nil {
		t.Fatal(err)
	}
	_, err = w.at(0, "ann")
	wantCode(t, err, rushgate.Unavailable) // the ledger knows of no freeze
	ask()
	if _, err := w.nodes[1].Resume(ctx, "phones"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the sale sells again", func() bool { _, err := w.at(0, "ann"); return err == nil })
	w.audit(t)
}
