package gatetest

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"rushgate"
)

// SharedFactory makes gates that share what they know.
type SharedFactory struct {
	// New returns so many gates over one memory that knows no sale: the gates
	// of as many nodes. The suite closes them.
	New func(tb testing.TB, nodes int) []rushgate.Shared

	Shards int // into how many parts the suite has sales divided; 0 means 1
}

// RunShared runs what a shared gate must pass beside the suite of all gates:
// two nodes in front of one memory.
func RunShared(t *testing.T, f SharedFactory) {
	for _, c := range []struct {
		name string
		play func(*duo)
	}{
		{"DecisionsTellWhereTheyWereMade", decisionsTellWhere},
		{"OneStockForAll", oneStockForAll},
		{"OneLimitForAll", oneLimitForAll},
		{"TheOtherNodeKnowsTheAsk", theOtherNodeKnowsTheAsk},
		{"NothingGrantedAnywhereAfterFreeze", nothingGrantedAnywhere},
		{"OldChangesAreStale", oldChangesAreStale},
		{"ThePutThatCameTwice", thePutThatCameTwice},
		{"OldLoadsAreStale", oldLoadsAreStale},
		{"ClaimsWaitWhileItLoads", claimsWaitWhileItLoads},
		{"AnotherLimitAfterALoad", anotherLimitAfterALoad},
		{"OrphansAreWhole", orphansAreWhole},
		{"OrphansOfARush", orphansOfARush},
		{"OrphansOfAnAge", orphansOfAnAge},
		{"AnyNodeSettles", anyNodeSettles},
		{"AnyNodeForgets", anyNodeForgets},
		{"SettledOnceOfManyBatches", settledOnceOfManyBatches},
		{"Marks", marks},
		{"EarlyByLevel", earlyByLevel},
		{"HintsFollowTheOtherNode", hintsFollow},
		{"HintsNeverHideAClaim", hintsNeverHideAClaim},
		{"ListenHearsOfChanges", listenHears},
	} {
		t.Run(c.name, func(t *testing.T) { c.play(newDuo(t, f)) })
	}
	t.Run("StormOfNodes", func(t *testing.T) { stormOfNodes(t, f) })
}

// duo is two nodes. here is the stage of the first.
type duo struct {
	*stage
	t     *testing.T
	here  rushgate.Shared
	there rushgate.Shared
	other *stage // in front of the second node
}

func newDuo(t *testing.T, f SharedFactory) *duo {
	t.Helper()
	nodes := f.New(t, 2)
	t.Cleanup(func() {
		for _, g := range nodes {
			if err := g.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
		}
	})
	epochs := map[string]int64{}
	at := func(g rushgate.Gate, last rushgate.ID) *stage {
		return &stage{t: t, ctx: t.Context(), f: Factory{OwnClock: true, Shards: f.Shards}, gate: g, now: time.Now(), last: last, epochs: epochs}
	}
	return &duo{stage: at(nodes[0], 1000), t: t, here: nodes[0], there: nodes[1], other: at(nodes[1], 1_000_000)}
}

// patience is how long news may take.
const patience = 20 * time.Second

// soon waits until something is true.
func (d *duo) soon(what string, is func() bool) {
	d.t.Helper()
	deadline := time.After(patience)
	for !is() {
		select {
		case <-deadline:
			d.t.Fatalf("%s: not within %s", what, patience)
		case <-time.After(2 * time.Millisecond):
		}
	}
}

func decisionsTellWhere(d *duo) {
	sale := d.open("sale", 1, 2)
	before := time.Now()
	for _, s := range []*stage{d.stage, d.other} {
		got := s.want(rushgate.Granted, s.ask("sale", fmt.Sprint("u", s.last), 1))
		if got.Epoch != sale.Epoch || got.Version != sale.Version {
			d.t.Fatalf("decided by epoch %d, version %d; want %d, %d", got.Epoch, got.Version, sale.Epoch, sale.Version)
		}
		if got.At.Sub(before).Abs() > time.Minute || got.At.Nanosecond()%1e6 != 0 {
			d.t.Fatalf("decided at %s, want about %s in whole milliseconds", got.At, before)
		}
	}
	d.put(sale)
	if got := d.other.want(rushgate.SoldOut, d.other.ask("sale", "late", 1)); got.Version != sale.Version {
		d.t.Fatalf("refused by version %d, want %d", got.Version, sale.Version)
	}
}

func oneStockForAll(d *duo) {
	d.open("sale", 0, 10)
	for i := range 10 {
		s := []*stage{d.stage, d.other}[i%2]
		s.grant(s.ask("sale", fmt.Sprint("u", i), 1))
	}
	d.want(rushgate.SoldOut, d.ask("sale", "late", 1))
	d.other.want(rushgate.SoldOut, d.other.ask("sale", "late", 1))
	d.counts("sale", 0, 10)
	d.other.counts("sale", 0, 10)
}

func oneLimitForAll(d *duo) {
	d.open("sale", 2, 10)
	a, b := d.grant(d.keyed("sale", "u", 1, "k")), d.other.inSlot(1, "u")
	d.has(d.want(rushgate.LimitReached, d.ask("sale", "u", 1)), a.ID, b.ID)
	d.has(d.other.want(rushgate.LimitReached, d.other.ask("sale", "u", 1)), a.ID, b.ID)
	d.other.replay(a.ID, d.other.keyed("sale", "u", 1, "k"))
	d.other.giveBack(a)
	d.inSlot(0, "u")
}

// A node dies between the decision and its answer, and the buyer comes again
// through another one.
func theOtherNodeKnowsTheAsk(d *duo) {
	for _, limit := range []int64{0, 3} {
		sale := fmt.Sprint("sale-", limit)
		d.open(sale, limit, 5)
		d.claim(d.ask(sale, "u", 1))
		a := d.keyed(sale, "u", 1, "k")
		first, again := d.grant(a), d.other.grant(a)
		if first.Slot != again.Slot {
			d.t.Fatalf("slot %d, then %d", first.Slot, again.Slot)
		}
		fresh := d.other.ask(sale, "v", 1)
		d.other.claim(a, fresh)
		d.claim(fresh, a)
		d.counts(sale, 2, 3)
	}
}

func nothingGrantedAnywhere(d *duo) {
	sale := d.open("sale", 0, 100)
	for range 10 {
		d.other.grant(d.other.ask("sale", "u", 1))
		sale.Frozen = true
		d.put(sale)
		d.other.want(rushgate.Frozen, d.other.ask("sale", "u", 1))
		sale.Frozen = false
		d.put(sale)
		d.soon("the other node hears that it goes on", func() bool {
			a := d.other.ask("sale", "u", 1)
			return d.there.Peek(time.Now(), &a) == rushgate.Granted
		})
	}
}

func (d *duo) stale(err error) {
	d.t.Helper()
	if !errors.Is(err, rushgate.ErrStale) {
		d.t.Fatalf("got %v, want %v", err, rushgate.ErrStale)
	}
}

func oldChangesAreStale(d *duo) {
	sale := d.open("sale", 1, 5)
	old := *sale
	sale.ClosesAt = time.Now().Add(time.Hour)
	d.put(sale)
	older, same := old, *sale
	older.Frozen = true
	d.stale(d.there.Put(d.ctx, &rushgate.Put{Sale: &older}))
	same.Frozen = true
	d.stale(d.there.Put(d.ctx, &rushgate.Put{Sale: &same})) // the version of other rules
	next := *sale
	next.Version += 2
	d.stale(d.there.Put(d.ctx, &rushgate.Put{Sale: &next, Was: old.Version})) // made from rules that another node has changed
	d.stale(d.there.Put(d.ctx, &rushgate.Put{Sale: &next, Was: sale.Version + 1}))
	d.load(sale, nil, rushgate.Stock{Item: "a", Total: 5})
	late := old
	late.Version, late.Frozen = sale.Version+1, true
	d.stale(d.there.Put(d.ctx, &rushgate.Put{Sale: &late})) // of an older epoch
	for _, epoch := range []int64{old.Epoch, sale.Epoch + 1} {
		_, err := d.there.Restock(d.ctx, &rushgate.Restock{Sale: "sale", Item: "a", Add: 1, Epoch: epoch})
		d.stale(err)
	}
	d.counts("sale", 5, 0)
	d.grant(d.ask("sale", "u", 1))
}

// Its answer got lost.
func thePutThatCameTwice(d *duo) {
	sale := d.open("sale", 1, 5)
	sale.Frozen = true
	d.put(sale)
	d.ok(d.here.Put(d.ctx, &rushgate.Put{Sale: sale}))
	d.ok(d.there.Put(d.ctx, &rushgate.Put{Sale: sale}))
	d.want(rushgate.Frozen, d.ask("sale", "u", 1))
}

func oldLoadsAreStale(d *duo) {
	sale := d.open("sale", 1, 5)
	c := d.grant(d.ask("sale", "u", 1))
	for _, epoch := range []int64{sale.Epoch, sale.Epoch - 1} {
		old := *sale
		if old.Epoch = epoch; epoch > 0 {
			d.stale(d.there.Load(d.ctx, snapshot(&old, nil, rushgate.Stock{Item: "a", Total: 100})))
		}
	}
	d.counts("sale", 4, 1)
	d.has(d.want(rushgate.LimitReached, d.ask("sale", "u", 1)), c.ID)
	d.other.epochs["sale"] += 3
	d.other.load(sale, nil, rushgate.Stock{Item: "a", Total: 7})
	d.counts("sale", 7, 0)
	if got := d.want(rushgate.Granted, d.ask("sale", "u", 1)); got.Epoch != sale.Epoch {
		d.t.Fatalf("decided by epoch %d, want %d", got.Epoch, sale.Epoch)
	}
}

func claimsWaitWhileItLoads(d *duo) {
	sale := d.open("sale", 1, 5)
	d.fence(sale)
	snap := snapshot(sale, nil, rushgate.Stock{Item: "a", Total: 9})
	snap.Claims = func(yield func(rushgate.Claim, error) bool) {
		d.want(rushgate.Unavailable, d.ask("sale", "u", 1))
		d.other.want(rushgate.Unavailable, d.other.ask("sale", "v", 1))
		yield(rushgate.Claim{ID: 1, Sale: "sale", Item: "a", User: "w", Quantity: 1, State: rushgate.Held}, nil)
	}
	d.ok(d.there.Load(d.ctx, snap))
	d.counts("sale", 8, 0)
	d.grant(d.ask("sale", "u", 1))
	d.other.grant(d.other.ask("sale", "v", 1))
}

// A node that has seen the sale with a limit meets it without one, and back.
func anotherLimitAfterALoad(d *duo) {
	sale := d.open("sale", 1, 9)
	d.other.grant(d.other.ask("sale", "u", 1))
	for _, limit := range []int64{0, 2, 0} {
		sale.PerUser = limit
		d.load(sale, nil, rushgate.Stock{Item: "a", Total: 9})
		c := d.other.grant(d.other.ask("sale", "u", 1))
		if (c.Slot == rushgate.NoSlot) != (limit == 0) {
			d.t.Fatalf("slot %d with a limit of %d", c.Slot, limit)
		}
		d.settle(c)
		d.counts("sale", 8, 0)
	}
}

func marks(d *duo) {
	mark := func() rushgate.Mark {
		d.t.Helper()
		m, err := d.there.Mark(d.ctx, "sale")
		d.ok(err)
		return m
	}
	if m := mark(); m != (rushgate.Mark{}) {
		d.t.Fatalf("the mark of nothing: %+v", m)
	}
	sale := d.open("sale", 1, 9)
	last := mark()
	if last.Epoch != sale.Epoch || last.Version != sale.Version {
		d.t.Fatalf("mark %+v, want epoch %d, version %d", last, sale.Epoch, sale.Version)
	}
	c := d.grant(d.ask("sale", "u", 1))
	for _, change := range []func(){func() {}, func() { d.settle(c) }, func() { d.giveBack(c) },
		func() { d.restock("sale", 1, true) }, func() { d.put(sale) }, func() { d.load(sale, nil, rushgate.Stock{Item: "a", Total: 9}) }} {
		change()
		m := mark()
		if m.Seq <= last.Seq || m.Epoch != sale.Epoch || m.Version != sale.Version {
			d.t.Fatalf("mark %+v after %+v", m, last)
		}
		last = m
	}
}

func earlyByLevel(d *duo) {
	sale := d.open("sale", 1, 99)
	for i, level := range []rushgate.Ack{rushgate.Recorded, rushgate.Accepted, rushgate.Recorded} {
		sale.Ack = level
		d.put(sale)
		for _, s := range []*stage{d.stage, d.other} {
			user := fmt.Sprint("u", i, s.last)
			out := s.claim(s.ask("sale", user, 1), s.ask("sale", user, 1))
			if out[0].Early != (level == rushgate.Accepted) || out[1].Early {
				d.t.Fatalf("at level %s: %+v", level, out)
			}
		}
	}
}

// stormOfNodes is the storm through two nodes at once.
func stormOfNodes(t *testing.T, f SharedFactory) {
	for _, limit := range []int64{0, 1, 3} {
		t.Run(fmt.Sprintf("Limit%d", limit), func(t *testing.T) {
			d := newDuo(t, f)
			sale := d.open("sale", limit, stormStock)
			buyers := make([]*buyer, stormBuyers)
			var crowd, operator sync.WaitGroup
			for i := range buyers {
				buyers[i] = newBuyer(t, []*stage{d.stage, d.other}[i%2], i)
				crowd.Go(buyers[i].buy)
			}
			var added int64
			over := make(chan struct{})
			operator.Go(func() { added = operate(t, d.stage, *sale, over) })
			crowd.Wait()
			close(over)
			operator.Wait()
			settleUp(t, d.stage, limit, stormStock+added, buyers)
		})
	}
}
