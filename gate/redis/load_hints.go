package redis

import "rushgate"

// remember takes a claim's user and key into the set of those who have something.
func (l *load) remember(c *rushgate.Claim) {
	seeds := l.gate.seeds
	if c.State.Active() && l.snap.Sale.PerUser > 0 {
		l.whole = l.whole && l.set.add(seeds.user(c.User))
	}
	if c.Key != "" {
		l.whole = l.whole && l.set.add(seeds.key(c.Key))
	}
}

// learn makes the new picture this node's, with hints of what was loaded.
func (l *load) learn() {
	l.view.adopt(l.snap.Sale.Epoch, l.shards, l.snap.Sale.PerUser > 0)
	items := make([]string, 0, len(l.units))
	for item := range l.units {
		items = append(items, item)
	}
	h := newHints(l.snap.Sale.Epoch, l.shards, l.gate.seeds, items)
	h.put(l.snap.Sale)
	for shard, s := range l.skews {
		h.clock(shard, s)
	}
	for _, st := range l.snap.Stock {
		for shard, seq := range l.seqs {
			h.items[st.Item].heard(shard, seq, slice(l.free(st), shard, l.shards))
		}
	}
	if l.whole {
		s := &census{set: l.set, from: make([]int64, l.shards), own: make([]int64, l.shards), finished: true}
		h.sets = append(h.sets, s)
		h.review()
	}
	l.view.hints.Store(h)
}
