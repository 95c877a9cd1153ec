package rushgate

import (
	"sync"
	"sync/atomic"
)

// catalog holds the sales that this node knows. A sale in it is never changed:
// a new one takes its place, so readers need no lock.
type catalog struct {
	sales sync.Map // id → *Sale
	count atomic.Int64

	weaker atomic.Bool // there is, or was, a sale whose level is below Recorded
}

// sale returns a sale that must not be changed, or nil.
func (c *catalog) sale(id string) *Sale {
	if s, ok := c.sales.Load(id); ok {
		return s.(*Sale)
	}
	return nil
}

// all returns every sale, in no order.
func (c *catalog) all() []*Sale {
	var list []*Sale
	c.sales.Range(func(_, s any) bool {
		list = append(list, s.(*Sale))
		return true
	})
	return list
}

// put adds or replaces a sale, unless a newer state of it is there: two who read
// the ledger may come in any order. The catalog keeps s.
func (c *catalog) put(s *Sale) {
	if s.Ack != Recorded {
		c.weaker.Store(true)
	}
	for {
		had, there := c.sales.LoadOrStore(s.ID, s)
		if !there {
			c.count.Add(1)
			return
		}
		if had.(*Sale).newer(s) || c.sales.CompareAndSwap(s.ID, had, s) {
			return
		}
	}
}

// size returns how many sales there are.
func (c *catalog) size() int { return int(c.count.Load()) }

// sameEpoch gives a changed copy of a sale the epoch that the sale has now: it
// may have been rebuilt while the change waited at the desk.
func (c *catalog) sameEpoch(changed *Sale) {
	if s := c.sale(changed.ID); s != nil {
		changed.Epoch = s.Epoch
	}
}
