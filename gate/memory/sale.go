package memory

import (
	"fmt"
	"sync/atomic"
	"time"

	"rushgate"
)

// sale is what the gate knows of one sale. Only rules and the free units of
// items may be read without the gate's lock.
type sale struct {
	id      string
	seeds   seeds
	limited bool // whether there is a limit per user; holders are of that kind
	rules   atomic.Pointer[rushgate.Sale]

	items []item
	index map[string]int // item id → place in items

	holders holders
	keys    map[mark]rushgate.ID

	// unsettled holds the grants that are on their way to the ledger: those of
	// one batch, seldom more.
	unsettled map[rushgate.ID]holding

	// changes counts the changes since the sale was loaded, so that a Load can
	// tell that it would undo one.
	changes uint64
}

// setRules keeps a copy of a sale's rules; what it says about items is ignored.
func (s *sale) setRules(rules *rushgate.Sale) {
	r := *rules
	r.Items = nil
	s.rules.Store(&r)
}

// find returns the place of an item, or -1.
func (s *sale) find(id string) int {
	if len(s.items) > 0 && s.items[0].id == id {
		return 0 // most sales have one item
	}
	if n, ok := s.index[id]; ok {
		return n
	}
	return -1
}

// who returns the mark under which holders know a user; without a limit they
// know nobody, and the work is spared.
func (s *sale) who(user string) mark {
	if !s.limited {
		return mark{}
	}
	return s.seeds.mark(user)
}

// glance answers an ask from atomic values alone, as if nobody were known.
func (s *sale) glance(now time.Time, a *rushgate.Ask) rushgate.Code {
	n := s.find(a.Item)
	if n < 0 {
		return rushgate.NotFound
	}
	rules := s.rules.Load()
	code := rushgate.Decide(rules.Standing(now), rules.PerUser, 0, s.items[n].free.Load(), a.Quantity)
	if code == rushgate.LimitReached {
		return rushgate.Granted // the answer lists claims: Claim's business
	}
	return code
}

// peek is glance under the lock, where it can be seen who is known.
func (s *sale) peek(now time.Time, a *rushgate.Ask) rushgate.Code {
	code := s.glance(now, a)
	if code == rushgate.Granted {
		return code
	}
	if a.Key != "" && len(s.keys) > 0 {
		if _, ok := s.keys[s.seeds.mark(a.Key)]; ok {
			return rushgate.Granted
		}
	}
	if code == rushgate.SoldOut && s.limited && s.holders.knows(s.seeds.mark(a.User)) {
		return rushgate.Granted
	}
	return code
}

func (s *sale) settle(c *rushgate.Claim) error {
	h, ok := s.unsettled[c.ID]
	if !ok {
		return nil
	}
	delete(s.unsettled, c.ID)
	return s.items[h.item].settle(int64(h.quantity))
}

func (s *sale) giveBack(c *rushgate.Claim) error {
	h, ok := s.holders.remove(s.who(c.User), c.ID)
	if !ok {
		return nil
	}
	if err := s.settle(c); err != nil {
		return err
	}
	return s.items[h.item].give(int64(h.quantity))
}

func (s *sale) forget(c *rushgate.Claim) error {
	if c.Key != "" {
		if key := s.seeds.mark(c.Key); s.keys[key] == c.ID {
			delete(s.keys, key)
		}
	}
	return s.giveBack(c)
}

// item is the count of one item. free ≤ total, and free ≥ 0 unless it was
// loaded so.
type item struct {
	id        string
	total     int64
	free      atomic.Int64 // written under the gate's lock only
	unsettled int64
}

// take takes units for a grant, if there are so many.
func (it *item) take(units int64) bool {
	free := it.free.Load()
	if free < units {
		return false
	}
	it.free.Store(free - units)
	it.unsettled += units
	return true
}

// give gives units back.
func (it *item) give(units int64) error {
	free := it.free.Load() + units
	if free > it.total {
		return fmt.Errorf("item %s: %d given back would make %d free of %d", it.id, units, free, it.total)
	}
	it.free.Store(free)
	return nil
}

// settle takes units out of the unsettled ones.
func (it *item) settle(units int64) error {
	if it.unsettled < units {
		return fmt.Errorf("item %s: %d to settle of %d", it.id, units, it.unsettled)
	}
	it.unsettled -= units
	return nil
}

func (it *item) restock(add int64) (enough bool, err error) {
	if add < -rushgate.MaxStock || add > rushgate.MaxStock || it.total+add > rushgate.MaxStock {
		return false, fmt.Errorf("item %s: %d and %d more are out of bounds", it.id, it.total, add)
	}
	free := it.free.Load()
	if add < 0 && free+add < 0 {
		return false, nil
	}
	it.total += add
	it.free.Store(free + add)
	return true, nil
}
