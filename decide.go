package rushgate

import (
	"slices"
	"time"
)

// Standing says what a sale answers to everybody at a moment: Granted when it
// takes claims, or the refusal.
func (s *Sale) Standing(now time.Time) Code {
	switch {
	case s.Ended || !s.ClosesAt.IsZero() && !now.Before(s.ClosesAt):
		return Closed
	case s.Frozen:
		return Frozen
	case !s.OpensAt.IsZero() && now.Before(s.OpensAt):
		return NotOpen
	}
	return Granted
}

// Decide is the whole decision about one ask, without any state of its own:
// the standing of the sale, the units that the user has, the units that are
// free. A user who has all that one person may have hears so even when the
// stock is gone: the answer names the claims, and a lost answer is found again.
func Decide(standing Code, limit, has, free, quantity int64) Code {
	switch {
	case standing != Granted:
		return standing
	case limit > 0 && (quantity > limit || has > limit-quantity):
		return LimitReached
	case free < quantity:
		return SoldOut
	}
	return Granted
}

// Model is the plainest gate there is: maps, strings and loops. Every gate is
// held against it; none is built on it.
type Model struct {
	Sale   Sale
	Free   map[string]int64 // item → units
	Claims []Claim          // active ones
	Keys   map[string]ID
}

// NewModel returns the model of a sale of which nothing is taken.
func NewModel(s Sale) *Model {
	m := &Model{Sale: s, Free: map[string]int64{}, Keys: map[string]ID{}}
	for _, it := range s.Items {
		m.Free[it.ID] = it.Stock
	}
	return m
}

// Claim decides one ask and remembers a grant.
func (m *Model) Claim(now time.Time, a Ask) Decision {
	if id, ok := m.Keys[a.Key]; ok && a.Key != "" {
		return Decision{Code: Replayed, Prior: id}
	}
	var has int64
	var ids []ID
	slot := NoSlot
	used := map[int32]bool{}
	for _, c := range m.Claims {
		if c.User == a.User {
			has += c.Quantity
			ids = append(ids, c.ID)
			used[c.Slot] = true
		}
	}
	code := Decide(m.Sale.Standing(now), m.Sale.PerUser, has, m.Free[a.Item], a.Quantity)
	if code == LimitReached {
		slices.Sort(ids)
		return Decision{Code: code, Has: ids}
	}
	if code != Granted {
		return Decision{Code: code}
	}
	if m.Sale.PerUser > 0 {
		for slot = 0; used[slot]; slot++ {
		}
	}
	m.Free[a.Item] -= a.Quantity
	m.Claims = append(m.Claims, Claim{ID: a.ID, Sale: a.Sale, Item: a.Item, User: a.User,
		Quantity: a.Quantity, Slot: slot, State: Held, Key: a.Key})
	if a.Key != "" {
		m.Keys[a.Key] = a.ID
	}
	return Decision{Code: Granted, Slot: slot}
}

// Return takes the units and the slot of an active claim back; it does nothing
// for a claim that it does not know.
func (m *Model) Return(id ID) {
	for i, c := range m.Claims {
		if c.ID == id {
			m.Free[c.Item] += c.Quantity
			m.Claims = slices.Delete(m.Claims, i, i+1)
			return
		}
	}
}

// Forget is Return for a claim that was never recorded: its key is free again.
func (m *Model) Forget(id ID) {
	m.Return(id)
	for k, v := range m.Keys {
		if v == id {
			delete(m.Keys, k)
		}
	}
}
