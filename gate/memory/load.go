package memory

import (
	"context"
	"errors"
	"fmt"

	"rushgate"
)

// mostPresized bounds what Load allocates on the word of a count alone.
const mostPresized = int64(1) << 24

// Load implements rushgate.Gate. The new state is built beside the old one, and
// other sales go on meanwhile. A failed Load leaves the old state in place; and
// a Load fails when the sale was changed while it ran, because it would undo
// the change. Changes between the snapshot and the call it cannot see: the
// caller keeps the sale quiet, or loads again.
//
// What a snapshot says never makes the gate generous: free is the total less
// what is taken, by the stock row or by the claims, whichever is more.
func (g *Gate) Load(ctx context.Context, snap rushgate.Snapshot) error {
	old, changes := g.version(snap.Sale.ID)
	s, err := newSale(g.seeds, snap)
	if err != nil {
		return fmt.Errorf("load of sale %s: %w", snap.Sale.ID, err)
	}
	if err := s.fill(ctx, snap); err != nil {
		return fmt.Errorf("load of sale %s: %w", snap.Sale.ID, err)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if now := g.sale(s.id); now != old || old != nil && old.changes != changes {
		return fmt.Errorf("load of sale %s: the sale was changed meanwhile", s.id)
	}
	g.replace(s)
	return nil
}

// version returns the present state of a sale and how often it was changed.
func (g *Gate) version(id string) (*sale, uint64) {
	g.mu.RLock()
	defer g.mu.RUnlock()
	s := g.sale(id)
	if s == nil {
		return nil, 0
	}
	return s, s.changes
}

// newSale makes a sale with its stock and room for its claims.
func newSale(with seeds, snap rushgate.Snapshot) (*sale, error) {
	s := &sale{
		id:        snap.Sale.ID,
		seeds:     with,
		limited:   snap.Sale.PerUser > 0,
		items:     make([]item, len(snap.Stock)),
		index:     make(map[string]int, len(snap.Stock)),
		keys:      map[mark]rushgate.ID{},
		unsettled: map[rushgate.ID]holding{},
	}
	s.setRules(snap.Sale)
	if len(s.items) > rushgate.MaxItems {
		return nil, fmt.Errorf("%d items", len(s.items))
	}
	var taken int64
	for i, st := range snap.Stock {
		if _, twice := s.index[st.Item]; twice {
			return nil, fmt.Errorf("item %s is there twice", st.Item)
		}
		if st.Total < 0 || st.Total > rushgate.MaxStock || st.Taken < 0 {
			return nil, fmt.Errorf("item %s: %d taken of %d", st.Item, st.Taken, st.Total)
		}
		s.index[st.Item] = i
		s.items[i].id, s.items[i].total = st.Item, st.Total
		taken += min(st.Taken, mostPresized)
	}
	if s.limited { // so many users at least
		s.holders = newPeople(int(min(taken/snap.Sale.PerUser, mostPresized)))
	} else { // so many claims at most
		s.holders = make(pile, min(taken, mostPresized/16))
	}
	return s, nil
}

// fill reads the claims of a snapshot and computes what is free.
func (s *sale) fill(ctx context.Context, snap rushgate.Snapshot) error {
	units := make([]int64, len(s.items))
	people, _ := s.holders.(*people)
	var slotless []rushgate.Claim
	n := 0
	for c, err := range snap.Claims {
		if n++; err == nil && n%4096 == 0 {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		if c.Key != "" {
			s.keys[s.seeds.mark(c.Key)] = c.ID
		}
		if !c.State.Active() {
			continue
		}
		if people != nil && c.Slot < 0 {
			slotless = append(slotless, c)
			continue
		}
		if err := s.place(&c, c.Slot, units); err != nil {
			return fmt.Errorf("claim %d: %w", c.ID, err)
		}
	}
	// Claims from a time when the sale had no limit take the slots that the
	// others left.
	for i := range slotless {
		c := &slotless[i]
		user := s.who(c.User)
		slot := people.lowest(user, people.has(user))
		if err := s.place(c, slot, units); err != nil {
			return fmt.Errorf("claim %d: %w", c.ID, err)
		}
	}
	for i, st := range snap.Stock {
		s.items[i].free.Store(st.Total - max(st.Taken, units[i]))
	}
	return nil
}

// place remembers a recorded claim and adds to the units taken of each item.
func (s *sale) place(c *rushgate.Claim, slot int32, units []int64) error {
	n := s.find(c.Item)
	if n < 0 {
		return fmt.Errorf("its item %q has no stock", c.Item)
	}
	if c.ID <= 0 || c.Quantity <= 0 || c.Quantity > rushgate.MaxQuantity {
		return fmt.Errorf("quantity %d", c.Quantity)
	}
	units[n] += c.Quantity
	h := holding{id: c.ID, quantity: int32(c.Quantity), item: uint16(n)}
	if !s.holders.put(s.who(c.User), slot, h) {
		return errors.New("another claim is in its place")
	}
	return nil
}
