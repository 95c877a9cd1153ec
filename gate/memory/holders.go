package memory

import (
	"hash/maphash"
	"slices"

	"rushgate"
)

// mark stands for a user or an idempotency key: 128 bits of keyed hash.
type mark struct{ hi, lo uint64 }

// slot is the mark of a user's claim in a slot. For different users the marks
// are as far from each other as random numbers are.
func (m mark) slot(n int32) mark { return mark{m.hi, m.lo + uint64(n)} }

type seeds struct{ hi, lo maphash.Seed }

func newSeeds() seeds { return seeds{maphash.MakeSeed(), maphash.MakeSeed()} }

func (s seeds) mark(text string) mark {
	return mark{maphash.String(s.hi, text), maphash.String(s.lo, text)}
}

// holding is an active claim: 16 bytes, no pointers.
type holding struct {
	id       rushgate.ID
	quantity int32  // ≤ rushgate.MaxQuantity
	item     uint16 // place in sale.items, < rushgate.MaxItems
}

// possession is what a user has: units, claims, and which slots to look at.
type possession struct {
	units  int64
	claims int32
	low    int32 // every slot below is taken
	top    int32 // every slot from here is free
}

// holders remembers the active claims of a sale.
type holders interface {
	// knows says whether the user has any claim, has what it is, ids which.
	knows(user mark) bool
	has(user mark) possession
	ids(user mark, has possession) []rushgate.ID

	// again returns the slot of a claim if its user has it already. has is
	// what the user has.
	again(user mark, has possession, id rushgate.ID) (slot int32, ok bool)

	// add remembers a claim that is not there yet, in the lowest free slot,
	// and returns that. has is what the user has.
	add(user mark, has possession, h holding) (slot int32)

	// put is add for a slot that is given; false says that it is taken.
	put(user mark, slot int32, h holding) bool

	// remove forgets a claim; ok says that it was there.
	remove(user mark, id rushgate.ID) (h holding, ok bool)
}

// people are the holders of a sale with a limit: claims by user and slot.
// Nearly all users have one claim, in slot 0, and are one entry of held.
type people struct {
	held  map[mark]holding      // by user.slot(n)
	many  map[mark]possession   // users with a claim in a slot above 0
	slots map[rushgate.ID]int32 // claims in slots above 0
}

func newPeople(size int) *people {
	return &people{
		held:  make(map[mark]holding, size),
		many:  map[mark]possession{},
		slots: map[rushgate.ID]int32{},
	}
}

func (p *people) knows(user mark) bool {
	if _, ok := p.held[user]; ok {
		return true
	}
	_, ok := p.many[user]
	return ok
}

func (p *people) has(user mark) possession {
	if len(p.many) > 0 {
		if has, ok := p.many[user]; ok {
			return has
		}
	}
	if h, ok := p.held[user]; ok {
		return possession{units: int64(h.quantity), claims: 1, low: 1, top: 1}
	}
	return possession{}
}

func (p *people) ids(user mark, has possession) []rushgate.ID {
	ids := make([]rushgate.ID, 0, has.claims)
	for slot := range has.top {
		if h, ok := p.held[user.slot(slot)]; ok {
			ids = append(ids, h.id)
		}
	}
	slices.Sort(ids)
	return ids
}

func (p *people) again(user mark, has possession, id rushgate.ID) (int32, bool) {
	if has.claims == 0 { // nearly everybody: one look at the big map less
		return 0, false
	}
	return p.find(user, id)
}

// find returns the slot of a user's claim.
func (p *people) find(user mark, id rushgate.ID) (int32, bool) {
	if h, ok := p.held[user]; ok && h.id == id {
		return 0, true
	}
	slot, ok := p.slots[id]
	return slot, ok && p.held[user.slot(slot)].id == id
}

func (p *people) add(user mark, has possession, h holding) int32 {
	has.low = p.lowest(user, has)
	slot := has.low
	p.fill(user, has, slot, h)
	return slot
}

// lowest returns the lowest free slot of a user.
func (p *people) lowest(user mark, has possession) int32 {
	slot := has.low
	for slot < has.top && p.taken(user, slot) {
		slot++
	}
	return slot
}

func (p *people) put(user mark, slot int32, h holding) bool {
	if p.taken(user, slot) {
		return false
	}
	p.fill(user, p.has(user), slot, h)
	return true
}

func (p *people) taken(user mark, slot int32) bool {
	_, ok := p.held[user.slot(slot)]
	return ok
}

// fill remembers a claim in a free slot of a user who had so much before.
func (p *people) fill(user mark, has possession, slot int32, h holding) {
	p.held[user.slot(slot)] = h
	if slot > 0 {
		p.slots[h.id] = slot
	}
	has.units += int64(h.quantity)
	has.claims++
	if slot == has.low {
		has.low++
	}
	has.top = max(has.top, slot+1)
	p.keep(user, has)
}

// keep remembers what a user has, if slot 0 does not tell it already.
func (p *people) keep(user mark, has possession) {
	if has.top > 1 {
		p.many[user] = has
	} else if len(p.many) > 0 {
		delete(p.many, user)
	}
}

func (p *people) remove(user mark, id rushgate.ID) (holding, bool) {
	slot, ok := p.find(user, id)
	if !ok {
		return holding{}, false
	}
	h, has := p.held[user.slot(slot)], p.has(user)
	delete(p.held, user.slot(slot))
	delete(p.slots, id)
	has.units -= int64(h.quantity)
	has.claims--
	has.low = min(has.low, slot)
	if has.claims == 0 {
		has.top = 0
	}
	for has.top > 0 && !p.taken(user, has.top-1) {
		has.top--
	}
	p.keep(user, has)
	return h, true
}

// pile is the holders of a sale without a limit: claims by id. Nobody has to be
// found by name, and a shop may make a million claims.
type pile map[rushgate.ID]holding

func (p pile) knows(mark) bool                           { return false }
func (p pile) has(mark) possession                       { return possession{} }
func (p pile) ids(mark, possession) []rushgate.ID        { return nil }
func (p pile) add(_ mark, _ possession, h holding) int32 { p[h.id] = h; return rushgate.NoSlot }

func (p pile) again(_ mark, _ possession, id rushgate.ID) (int32, bool) {
	_, ok := p[id]
	return rushgate.NoSlot, ok
}

func (p pile) put(_ mark, _ int32, h holding) bool {
	if _, ok := p[h.id]; ok {
		return false
	}
	p[h.id] = h
	return true
}

func (p pile) remove(_ mark, id rushgate.ID) (holding, bool) {
	h, ok := p[id]
	delete(p, id)
	return h, ok
}
