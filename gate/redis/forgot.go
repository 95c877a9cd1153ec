package redis

import "context"

// believe decides whether an answer may be believed. A Redis that was restarted
// without its data, fell back to a stale replica or was flushed tells nobody;
// three things give it away: the picture is gone or older (judge sees that), it
// counts fewer changes than this node has seen, or the server is not the one
// that the picture was loaded into.
//
// The last can only have come about if a connection was made since it was last
// checked: then it is checked again before anything is believed. A planned
// restart with all data there looks the same and is treated the same: loading
// from the ledger is cheap, and trusting a disk that synced a second ago is not.
func (g *Gate) believe(ctx context.Context, c *call) verdict {
	if c.head.epoch < c.asked {
		g.forgotten(c, c.asked, "the picture is an older one")
		return done
	}
	if c.head.epoch == c.asked && c.head.seq < c.askedSeq {
		g.forgotten(c, c.head.epoch, "it counts fewer changes than it had")
		return done
	}
	if !c.view.trusts(c.shard, c.head.epoch, g.dials.Load()) {
		if v := g.check(ctx, c); v != done || c.status != statusOK || c.err != nil {
			return v
		}
	}
	if c.view.gone(c.head.epoch) {
		c.status = statusForgotten
		return done
	}
	c.view.heard(c.shard, c.head.epoch, c.head.seq)
	return done
}

// check asks whether the server is the one that the picture was loaded into.
func (g *Gate) check(ctx context.Context, c *call) verdict {
	dials := g.dials.Load()
	ask := &call{view: c.view, shard: c.shard, script: g.scripts.trust, epoch: c.head.epoch}
	g.run(ctx, ask)
	if ask.err != nil {
		c.err = ask.err // the answer itself may be good, but nobody knows: ask again
		return done
	}
	switch {
	case ask.status != statusOK:
		g.forgotten(c, c.head.epoch, "the picture is gone")
	case ask.head.epoch != c.head.epoch:
		return again // somebody has loaded a new one meanwhile
	default:
		loaded, _ := ask.rest[0].ToString()
		server, _ := ask.rest[1].ToString()
		if loaded != server || server == "" {
			g.forgotten(c, c.head.epoch, "the server is another one than it was, or was restarted")
			return done
		}
		c.view.trust(c.shard, c.head.epoch, dials)
	}
	return done
}

// forgotten marks a call, and its epoch for good: whatever is told under it
// from now on cannot be believed.
func (g *Gate) forgotten(c *call, epoch int64, why string) {
	c.status = statusForgotten
	c.view.hints.Store(nil)
	c.view.mu.Lock()
	news := epoch > c.view.lost
	c.view.lost = max(c.view.lost, epoch)
	c.view.mu.Unlock()
	if news {
		g.opts.Log.Error("Redis has forgotten a sale", "sale", c.view.id, "shard", c.shard, "epoch", epoch, "why", why)
		g.opts.Observe(Incident{Kind: Forgotten, Sale: c.view.id, Shard: c.shard, N: 1})
	}
}

// trusts says that the server of a shard was checked since the latest dial.
func (v *view) trusts(shard int, epoch, dials int64) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return epoch == v.epoch && shard < len(v.trusted) && v.trusted[shard] >= dials
}

func (v *view) trust(shard int, epoch, dials int64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if epoch == v.epoch && shard < len(v.trusted) {
		v.trusted[shard] = max(v.trusted[shard], dials)
	}
}

// gone says that a picture was found to be forgotten.
func (v *view) gone(epoch int64) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return epoch <= v.lost
}

// lastLost is the epoch of the latest picture that was found to be forgotten.
func (v *view) lastLost() int64 {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.lost
}
