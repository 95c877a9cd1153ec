package redis

import (
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"

	"rushgate"
)

// hints are what Peek refuses by: one picture of a sale as it was heard of
// last, from the answers to this node's own calls, from news of others, and by
// looking now and then. Everything in it may be old; nothing is granted by it.
type hints struct {
	epoch int64
	seeds seeds
	items map[string]*itemHint
	rules atomic.Pointer[rules] // nil: somebody has changed them

	// By how much the clock of any shard is ahead of ours, at least and at most,
	// in milliseconds.
	least, most atomic.Int64

	looked atomic.Int64 // when the sale was last looked at whole, in Unix milliseconds

	// complete says that everybody who has something is in the set.
	complete atomic.Bool
	known    atomic.Pointer[known]

	mu     sync.Mutex
	grants []int64 // by shard: the highest number of grants heard of
	skews  []skew  // by shard
	sets   []*census
}

// skew is by how much a clock is ahead of ours, at least and at most, in
// milliseconds.
type skew struct{ least, most int64 }

// rules are the rules of a sale in one version.
type rules struct {
	sale    rushgate.Sale
	version int64
}

// itemHint is what was free of an item.
type itemHint struct {
	empty atomic.Bool // nothing is free on any shard

	mu   sync.Mutex
	seqs []int64
	free []int64
}

// census is a set of those who have something, on its way or finished: it has
// everybody of the first `from` grants of each shard, and own later ones.
type census struct {
	set      *known
	from     []int64
	own      []int64
	finished bool
}

type seeds struct{ users, keys maphash.Seed }

func (s seeds) user(name string) uint64 { return maphash.String(s.users, name) }
func (s seeds) key(name string) uint64  { return maphash.String(s.keys, name) }

func newHints(epoch int64, shards int, s seeds, items []string) *hints {
	h := &hints{epoch: epoch, seeds: s, items: make(map[string]*itemHint, len(items)),
		grants: make([]int64, shards), skews: make([]skew, shards)}
	for shard := range h.skews {
		h.clock(shard, skew{-unheard, unheard})
	}
	h.looked.Store(time.Now().UnixMilli())
	for _, item := range items {
		it := &itemHint{seqs: make([]int64, shards), free: make([]int64, shards)}
		for i := range it.free {
			it.free[i] = 1 // as long as nothing was heard
		}
		h.items[item] = it
	}
	return h
}

// Peek implements rushgate.Gate. It asks nobody.
func (g *Gate) Peek(now time.Time, a *rushgate.Ask) rushgate.Code {
	g.mu.RLock()
	v := g.sales[a.Sale]
	g.mu.RUnlock()
	if v == nil {
		return rushgate.Granted
	}
	if !v.asked.Load() { // a look is cheaper than a write that all processors hear of
		v.asked.Store(true)
	}
	h := v.hints.Load()
	if h == nil {
		return rushgate.Granted
	}
	return h.peek(now, a)
}

func (h *hints) peek(now time.Time, a *rushgate.Ask) rushgate.Code {
	code, limited := h.glance(now, a)
	if code == rushgate.Granted || a.Key == "" && (code != rushgate.SoldOut || !limited) {
		return code
	}
	set := h.known.Load()
	if set == nil || !h.complete.Load() ||
		a.Key != "" && set.has(h.seeds.key(a.Key)) || code == rushgate.SoldOut && limited && set.has(h.seeds.user(a.User)) {
		return rushgate.Granted
	}
	return code
}

// glance answers an ask as if nobody were known.
func (h *hints) glance(now time.Time, a *rushgate.Ask) (code rushgate.Code, limited bool) {
	r := h.rules.Load()
	if r == nil {
		return rushgate.Granted, false
	}
	item := h.items[a.Item]
	if item == nil {
		return rushgate.NotFound, false
	}
	// The window is judged by Redis' clock, and only where it is beyond doubt.
	early := now.Add(time.Duration(h.least.Load()) * time.Millisecond)
	late := now.Add(time.Duration(h.most.Load()) * time.Millisecond)
	if code = r.sale.Standing(early); code != r.sale.Standing(late) {
		return rushgate.Granted, false
	}
	limited = r.sale.PerUser > 0
	if code == rushgate.Granted && item.empty.Load() && !(limited && a.Quantity > r.sale.PerUser) {
		code = rushgate.SoldOut
	}
	return code, limited
}

// heard takes in what a shard told of the free units of an item.
func (it *itemHint) heard(shard int, seq, free int64) {
	it.mu.Lock()
	defer it.mu.Unlock()
	if shard >= len(it.seqs) || seq < it.seqs[shard] {
		return
	}
	it.seqs[shard], it.free[shard] = seq, free
	empty := true
	for _, n := range it.free {
		empty = empty && n <= 0
	}
	it.empty.Store(empty)
}

// unheard is by how much a clock may be ahead or behind that was not heard yet:
// a day.
const unheard = 24 * 60 * 60 * 1000

// clock takes in how a shard's clock stands to ours. The shards may be on
// servers of different clocks: what all of them agree in is beyond doubt.
func (h *hints) clock(shard int, s skew) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if shard >= len(h.skews) {
		return
	}
	h.skews[shard] = s
	for _, other := range h.skews {
		s.least, s.most = min(s.least, other.least), max(s.most, other.most)
	}
	h.least.Store(s.least)
	h.most.Store(s.most)
}

// skew is how the clock of a call's server stands to ours: what it told was the
// time after the call was sent, and before its answer was received.
func (c *call) skew() skew {
	return skew{c.head.at.UnixMilli() - c.received.UnixMilli() - 1, c.head.at.UnixMilli() - c.sent.UnixMilli() + 1}
}

// put takes in rules, unless newer ones are known.
func (h *hints) put(sale *rushgate.Sale) {
	r := &rules{sale: *sale, version: sale.Version}
	r.sale.Items = nil
	for {
		old := h.rules.Load()
		if old != nil && old.version > r.version || h.rules.CompareAndSwap(old, r) {
			return
		}
	}
}

// granted takes in the grants of a shard: how many there have been, and those
// of this node among the latest, with their users and keys.
func (h *hints) granted(shard int, grants, own int64, names []uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if shard >= len(h.grants) {
		return
	}
	h.grants[shard] = max(h.grants[shard], grants)
	for _, s := range h.sets {
		if own > 0 && grants > s.from[shard] {
			s.own[shard] += own
			if !s.set.add(names...) {
				h.drop(s)
				break
			}
		}
	}
	h.review()
}

// review decides which set is complete: one that has every grant heard of.
func (h *hints) review() {
	complete := false
	for _, s := range h.sets {
		whole := s.finished
		for shard, n := range h.grants {
			whole = whole && s.from[shard]+s.own[shard] >= n
		}
		if whole {
			h.known.Store(s.set)
			complete = true
		}
	}
	h.complete.Store(complete)
}

// drop removes a set that has become too large, or could not be finished.
func (h *hints) drop(gone *census) {
	var rest []*census
	for _, s := range h.sets {
		if s != gone {
			rest = append(rest, s)
		}
	}
	h.sets = rest
}

// begin adds a set that will have everybody of so many grants.
func (h *hints) begin(from []int64, max int) *census {
	s := &census{set: newKnown(max), from: from, own: make([]int64, len(from))}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sets = append(h.sets, s)
	return s
}

// end finishes a set, which takes the place of those before it, or drops it.
func (h *hints) end(s *census, whole bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if whole {
		s.finished = true
		h.sets = []*census{s}
	} else {
		h.drop(s)
	}
	h.review()
}

// wanting says that refusals go to Redis for want of a complete set.
func (h *hints) wanting() bool {
	if h.complete.Load() {
		return false
	}
	r := h.rules.Load()
	if r != nil && (r.sale.Ended || r.sale.Frozen) {
		return true
	}
	for _, it := range h.items {
		if it.empty.Load() {
			return true
		}
	}
	return false
}
