package gatetest

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"rushgate"
)

// The storm: so many goroutines, each with so many batches.
const (
	stormBuyers  = 4
	stormBatches = 150
	stormStock   = int64(60)
)

// storm lets goroutines peek, claim, settle, return and forget at once, while an
// operator restocks and freezes, and counts at the end: nothing was made, lost
// or sold twice, whoever came first.
func storm(t *testing.T, f Factory) {
	for _, limit := range []int64{0, 1, 3} {
		t.Run(fmt.Sprintf("Limit%d", limit), func(t *testing.T) {
			s := newStage(t, f)
			sale := s.open("sale", limit, stormStock)
			buyers := make([]*buyer, stormBuyers)
			var crowd, operator sync.WaitGroup
			for i := range buyers {
				buyers[i] = newBuyer(t, s, i)
				crowd.Go(buyers[i].buy)
			}
			var added int64
			over := make(chan struct{})
			operator.Go(func() { added = operate(t, s, *sale, over) })
			crowd.Wait()
			close(over)
			operator.Wait()
			settleUp(t, s, limit, stormStock+added, buyers)
		})
	}
}

// buyer is one goroutine of the storm with the claims that it holds.
type buyer struct {
	t     *testing.T
	s     *stage
	rand  *rand.Rand
	last  rushgate.ID
	held  []rushgate.Claim
	plain map[rushgate.ID]bool // not settled
}

func newBuyer(t *testing.T, s *stage, n int) *buyer {
	return &buyer{t: t, s: s, rand: rand.New(rand.NewPCG(uint64(n), 1)),
		last: rushgate.ID(n+1) << 32, plain: map[rushgate.ID]bool{}}
}

func (b *buyer) buy() {
	// In shards, most asks of a storm look for the last units everywhere.
	for range stormBatches / max(1, 3*(b.s.f.Shards-1)) {
		if !b.claim() || !b.change() {
			return
		}
	}
}

// claim has a batch decided for users that the goroutines share.
func (b *buyer) claim() bool {
	asks := make([]rushgate.Ask, 1+b.rand.IntN(8))
	out := make([]rushgate.Decision, len(asks))
	for i := range asks {
		b.last++
		asks[i] = rushgate.Ask{ID: b.last, Sale: "sale", Item: "a", User: fmt.Sprint("u", b.rand.IntN(40)),
			Quantity: 1, Key: fmt.Sprint("key ", b.last)}
		b.s.gate.Peek(b.s.now, &asks[i])
	}
	if err := b.s.gate.Claim(b.s.ctx, b.s.now, asks, out); err != nil {
		b.t.Errorf("claim: %v", err)
		return false
	}
	for i, d := range out {
		switch d.Code {
		case rushgate.Granted:
			b.held = append(b.held, claimOf(asks[i], d))
			b.plain[asks[i].ID] = true
		case rushgate.SoldOut, rushgate.LimitReached, rushgate.Frozen:
		default:
			b.t.Errorf("unexpected decision %+v", d)
			return false
		}
	}
	return true
}

// change does something to one of the buyer's own claims. Its key is known all
// along: Peek must never refuse it, whatever the others do meanwhile.
func (b *buyer) change() bool {
	if len(b.held) == 0 {
		return true
	}
	n := b.rand.IntN(len(b.held))
	c := b.held[n]
	replay := rushgate.Ask{ID: 1, Sale: "sale", Item: "a", User: c.User, Quantity: 1, Key: c.Key}
	if code := b.s.gate.Peek(b.s.now, &replay); code != rushgate.Granted {
		b.t.Errorf("Peek refused a known key with %s", code)
		return false
	}
	var err error
	switch b.rand.IntN(4) {
	case 0:
		err = b.s.gate.Settle(b.s.ctx, []rushgate.Claim{c})
		delete(b.plain, c.ID)
	case 1:
		err = b.s.gate.Return(b.s.ctx, []rushgate.Claim{c, c})
		b.drop(n)
	case 2:
		if forget := b.s.gate.Forget; b.plain[c.ID] || !b.s.shared() {
			err = forget(b.s.ctx, []rushgate.Claim{c})
		} else { // it is recorded: it can only end
			err = b.s.gate.Return(b.s.ctx, []rushgate.Claim{c})
		}
		b.drop(n)
	}
	if err != nil {
		b.t.Errorf("change: %v", err)
	}
	return err == nil
}

func (b *buyer) drop(n int) {
	delete(b.plain, b.held[n].ID)
	b.held[n] = b.held[len(b.held)-1]
	b.held = b.held[:len(b.held)-1]
}

// operate restocks both ways and freezes until the crowd is gone, and returns
// the units that were added in all.
func operate(t *testing.T, s *stage, sale rushgate.Sale, over <-chan struct{}) (added int64) {
	for i := int64(0); ; i++ {
		sale.Frozen = i%5 == 1
		sale.Version++
		if err := s.gate.Put(s.ctx, &rushgate.Put{Sale: &sale}); err != nil {
			t.Errorf("put: %v", err)
		}
		add := i%7 - 3
		enough, err := s.gate.Restock(s.ctx, &rushgate.Restock{Sale: "sale", Item: "a", Add: add, Epoch: sale.Epoch})
		if err != nil {
			t.Errorf("restock: %v", err)
		}
		if enough {
			added += add
		}
		counts, err := s.gate.Count(s.ctx, "sale")
		if err != nil || counts[0].Free < 0 || counts[0].Unsettled < 0 {
			t.Errorf("count: %+v, %v", counts, err)
		}
		select {
		case <-over:
			sale.Frozen = false
			sale.Version++
			if err := s.gate.Put(s.ctx, &rushgate.Put{Sale: &sale}); err != nil {
				t.Errorf("put: %v", err)
			}
			return added
		default:
		}
	}
}

// settleUp counts after the storm, and sells the rest.
func settleUp(t *testing.T, s *stage, limit, total int64, buyers []*buyer) {
	var held, unsettled int64
	has, slots := map[string]int64{}, map[string]bool{}
	for _, b := range buyers {
		for _, c := range b.held {
			held++
			has[c.User]++
			slot := fmt.Sprint(c.User, " ", c.Slot)
			if limit > 0 && (slots[slot] || has[c.User] > limit || int64(c.Slot) >= limit) {
				t.Errorf("%s has %d claims, one of them in slot %d", c.User, has[c.User], c.Slot)
			}
			slots[slot] = true
		}
		unsettled += int64(len(b.plain))
	}
	s.counts("sale", total-held, unsettled)
	for i := range total - held {
		s.grant(s.ask("sale", fmt.Sprint("late ", i), 1))
	}
	s.want(rushgate.SoldOut, s.ask("sale", "too late", 1))
}
