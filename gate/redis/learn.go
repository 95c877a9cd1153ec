package redis

import (
	"strconv"
	"time"

	"rushgate"
)

// hintsOf returns the hints of the picture that a call has met, or nil when
// there are none; hints of an older picture are dropped.
func (v *view) hintsOf(c *call) *hints {
	h := v.hints.Load()
	if h == nil || h.epoch == c.head.epoch {
		return h
	}
	if h.epoch < c.head.epoch {
		v.hints.CompareAndSwap(h, nil)
	}
	return nil
}

// learnClaims takes in the answer to a part.
func (g *Gate) learnClaims(p *part) {
	c := p.call
	h := p.view.hintsOf(c)
	if h == nil {
		g.refresh(p.view.id)
		return
	}
	h.clock(c.shard, c.skew())
	if r := h.rules.Load(); r == nil || r.version < c.head.version {
		h.rules.CompareAndSwap(r, nil)
		g.refresh(p.view.id)
	}
	var names []uint64
	own := int64(0)
	for i, d := range p.out {
		if d.Code == rushgate.Granted {
			own++
			names = append(names, h.seeds.user(p.asks[i].User))
			if p.asks[i].Key != "" {
				names = append(names, h.seeds.key(p.asks[i].Key))
			}
		}
	}
	grants, _ := c.rest[1].AsInt64()
	if one, _ := c.rest[2].ToString(); one != "1" {
		own = 0 // some were granted before: who has something must be read
	}
	h.granted(c.shard, grants, own, names)
	for i, item := range p.items {
		free, err := c.rest[4+i].AsInt64()
		if hint := h.items[item]; err == nil && hint != nil {
			hint.heard(c.shard, c.head.seq, free)
		}
	}
	if h.wanting() {
		g.refresh(p.view.id)
	}
}

// learnFree takes in an item and what is free of it, in turn.
func (g *Gate) learnFree(c *call, pairs []string) {
	h := c.view.hintsOf(c)
	if h == nil {
		return
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		free, err := strconv.ParseInt(pairs[i+1], 10, 64)
		if hint := h.items[pairs[i]]; err == nil && hint != nil {
			hint.heard(c.shard, c.head.seq, free)
		}
	}
}

// learnPictures takes in a look at all shards.
func (g *Gate) learnPictures(v *view, pictures []*picture) {
	for _, p := range pictures {
		if p == nil || p.epoch != pictures[0].epoch {
			v.hints.Store(nil)
			return
		}
	}
	first := pictures[0]
	h := v.hints.Load()
	if h == nil || h.epoch < first.epoch {
		items := make([]string, 0, len(first.free))
		for item := range first.free {
			items = append(items, item)
		}
		h = newHints(first.epoch, len(pictures), g.seeds, items)
		v.hints.Store(h)
	}
	if h.epoch != first.epoch {
		return
	}
	oldest := first
	for shard, p := range pictures {
		if p.version < oldest.version {
			oldest = p
		}
		grants, _ := strconv.ParseInt(p.fields["grants"], 10, 64)
		h.granted(shard, grants, 0, nil)
		h.clock(shard, p.skew)
		for item, free := range p.free {
			if hint := h.items[item]; hint != nil {
				hint.heard(shard, p.seq, free)
			}
		}
	}
	h.put(oldest.rules(v.id))
	h.looked.Store(time.Now().UnixMilli())
}

// rules reads the rules out of a picture.
func (p *picture) rules(sale string) *rushgate.Sale {
	number := func(name string) int64 {
		n, _ := strconv.ParseInt(p.fields[name], 10, 64)
		return n
	}
	moment := func(name string) time.Time {
		if ms := number(name); ms != 0 {
			return time.UnixMilli(ms)
		}
		return time.Time{}
	}
	return &rushgate.Sale{ID: sale, Epoch: p.epoch, Version: p.version, PerUser: number("per_user"),
		OpensAt: moment("opens"), ClosesAt: moment("closes"), Hold: time.Duration(number("hold")) * time.Millisecond,
		Frozen: p.fields["frozen"] == "1", Ended: p.fields["ended"] == "1", Ack: rushgate.Ack(p.fields["ack"])}
}
