package redis

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"rushgate"
)

// decided turns the answer of a part into decisions. An answer that cannot be
// had or read makes all of them Unavailable: asked again, with their ids, they
// will be told.
func (g *Gate) decided(p *part) {
	c := p.call
	code, epoch := rushgate.Unavailable, int64(0)
	switch {
	case c.err != nil:
	case c.status == statusForgotten:
		code, epoch = rushgate.Forgot, p.view.lastLost()
	case c.status == statusNone:
		code = rushgate.NotFound
	case c.status == statusOK:
		err := g.decisions(p)
		if err == nil {
			return
		}
		g.opts.Log.Error("an answer of Redis cannot be read", "sale", p.view.id, "shard", p.shard, "error", err)
	}
	for _, d := range p.out {
		*d = rushgate.Decision{Code: code, Slot: rushgate.NoSlot, Epoch: epoch}
	}
}

// decisions reads the answer of claim.lua.
func (g *Gate) decisions(p *part) error {
	c := p.call
	if len(c.rest) != 4+len(p.items) {
		return fmt.Errorf("%d values", len(c.rest))
	}
	level, _ := c.rest[0].ToString()
	text, err := c.rest[3].ToString()
	if err != nil {
		return err
	}
	one, _ := c.rest[2].ToString()
	early := g.early(c, rushgate.Ack(level))
	full := 0
	word, all := "", strings.HasPrefix(text, "G")
	if all {
		word = "g" + text[1:]
	}
	for i, d := range p.out {
		if !all {
			word, text, _ = strings.Cut(text, " ")
		}
		*d = rushgate.Decision{Slot: rushgate.NoSlot, Epoch: c.head.epoch, Version: c.head.version, At: c.head.at}
		if err := decide(d, word); err != nil {
			return fmt.Errorf("ask %d: %w", p.asks[i].ID, err)
		}
		switch d.Code {
		case rushgate.Granted:
			d.Early = early
			if one == "1" {
				p.view.tags.remember(p.asks[i].ID, c.args[1])
			}
		case rushgate.Overloaded:
			full++
		}
	}
	g.learnClaims(p)
	if full > 0 {
		g.opts.Observe(Incident{Kind: JournalFull, Sale: p.view.id, Shard: p.shard, N: full})
	}
	return nil
}

// decide reads one decision.
func decide(d *rushgate.Decision, word string) (err error) {
	if word == "" {
		return fmt.Errorf("no decision")
	}
	rest := word[1:]
	switch word[0] {
	case 'g':
		d.Code = rushgate.Granted
		if rest == "0" {
			d.Slot = 0
			return nil
		}
		var n int64
		n, err = strconv.ParseInt(rest, 10, 32)
		d.Slot = int32(n)
	case 'r':
		d.Code = rushgate.Replayed
		d.Prior, err = rushgate.ParseID(rest)
	case 'l':
		d.Code = rushgate.LimitReached
		for id := range strings.SplitSeq(rest, ",") {
			if id == "" {
				break
			}
			has, bad := rushgate.ParseID(id)
			if bad != nil {
				return bad
			}
			d.Has = append(d.Has, has)
		}
		slices.Sort(d.Has)
	default:
		refusals := map[string]rushgate.Code{"s": rushgate.SoldOut, "o": rushgate.NotOpen, "c": rushgate.Closed,
			"z": rushgate.Frozen, "n": rushgate.NotFound, "f": rushgate.Overloaded}
		var known bool
		if d.Code, known = refusals[word]; !known {
			return fmt.Errorf("decision %q", word)
		}
	}
	return err
}

// early says whether a grant may be told before it is recorded.
func (g *Gate) early(c *call, level rushgate.Ack) bool {
	c.view.mu.Lock()
	c.view.ack = level
	c.view.mu.Unlock()
	switch level {
	case rushgate.Accepted:
		return true
	case rushgate.Replicated:
		if c.copied && c.copies >= int64(g.opts.Replicas) {
			return true
		}
		if c.copied {
			g.opts.Observe(Incident{Kind: NotCopied, Sale: c.view.id, Shard: c.shard, N: 1})
		}
	}
	return false
}
