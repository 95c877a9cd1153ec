package rushgate

import (
	"sync"
	"sync/atomic"
)

// catalog holds the sales that this node knows. Readers get an immutable sale
// without a lock; changes copy.
type catalog struct {
	mu    sync.Mutex // writers
	sales atomic.Pointer[map[string]*Sale]
}

func newCatalog() *catalog {
	c := &catalog{}
	c.sales.Store(&map[string]*Sale{})
	return c
}

// sale returns a sale that must not be changed, or nil.
func (c *catalog) sale(id string) *Sale { return (*c.sales.Load())[id] }

// all returns every sale, in no order.
func (c *catalog) all() []*Sale {
	m := *c.sales.Load()
	list := make([]*Sale, 0, len(m))
	for _, s := range m {
		list = append(list, s)
	}
	return list
}

// put adds or replaces a sale. The catalog keeps s.
func (c *catalog) put(s *Sale) {
	c.mu.Lock()
	defer c.mu.Unlock()
	old := *c.sales.Load()
	m := make(map[string]*Sale, len(old)+1)
	for id, sale := range old {
		m[id] = sale
	}
	m[s.ID] = s
	c.sales.Store(&m)
}

// size returns how many sales there are.
func (c *catalog) size() int { return len(*c.sales.Load()) }
