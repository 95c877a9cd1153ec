package memory

import (
	"context"
	"fmt"
	"time"

	"rushgate"
)

// Claim implements rushgate.Gate. An ask that is granted already under the same
// id gets the same answer again and takes nothing. A batch that contains an ask
// out of bounds is an error as a whole, as is a context that is done.
func (g *Gate) Claim(ctx context.Context, now time.Time, asks []rushgate.Ask, out []rushgate.Decision) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if len(out) != len(asks) {
		return fmt.Errorf("%d asks with room for %d decisions", len(asks), len(out))
	}
	for i := range asks {
		if a := &asks[i]; a.ID <= 0 || a.Quantity <= 0 || a.Quantity > rushgate.MaxQuantity {
			return fmt.Errorf("ask %d of the batch is out of bounds: id %d, quantity %d", i, a.ID, a.Quantity)
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	var s *sale // of the ask before: a batch is nearly always of one sale
	var standing rushgate.Code
	for i := range asks {
		a := &asks[i]
		if s == nil || s.id != a.Sale {
			if s = g.sale(a.Sale); s == nil {
				out[i] = rushgate.Decision{Code: rushgate.NotFound, Slot: rushgate.NoSlot}
				continue
			}
			standing = s.rules.Load().Standing(now)
		}
		out[i] = s.claim(standing, a)
	}
	return nil
}

// claim decides one ask and remembers a grant.
func (s *sale) claim(standing rushgate.Code, a *rushgate.Ask) rushgate.Decision {
	var key mark
	if a.Key != "" {
		key = s.seeds.mark(a.Key)
		if prior, ok := s.keys[key]; ok && prior != a.ID {
			return refusal(rushgate.Decision{Code: rushgate.Replayed, Prior: prior})
		}
	}
	user := s.who(a.User)
	has := s.holders.has(user)
	if slot, ok := s.holders.again(user, has, a.ID); ok {
		return rushgate.Decision{Code: rushgate.Granted, Slot: slot}
	}
	if a.Key != "" && s.keys[key] == a.ID {
		return refusal(rushgate.Decision{Code: rushgate.Replayed, Prior: a.ID})
	}
	n := s.find(a.Item)
	if n < 0 {
		return refusal(rushgate.Decision{Code: rushgate.NotFound})
	}
	it := &s.items[n]
	code := rushgate.Decide(standing, s.rules.Load().PerUser, has.units, it.free.Load(), a.Quantity)
	switch {
	case code == rushgate.LimitReached:
		return refusal(rushgate.Decision{Code: code, Has: s.holders.ids(user, has)})
	case code != rushgate.Granted:
		return refusal(rushgate.Decision{Code: code})
	case !it.take(a.Quantity):
		return refusal(rushgate.Decision{Code: rushgate.SoldOut})
	}
	s.changes++
	if a.Key != "" {
		s.keys[key] = a.ID
	}
	h := holding{id: a.ID, quantity: int32(a.Quantity), item: uint16(n)}
	s.unsettled[a.ID] = h
	slot := s.holders.add(user, has, h)
	return rushgate.Decision{Code: rushgate.Granted, Slot: slot}
}

// refusal completes a decision that grants nothing.
func refusal(d rushgate.Decision) rushgate.Decision {
	d.Slot = rushgate.NoSlot
	return d
}
