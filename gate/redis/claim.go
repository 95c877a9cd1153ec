package redis

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"rushgate"
)

// maxAsks is how many asks one script decides: Lua's stack holds 8,000 values,
// and nobody else is served meanwhile.
const maxAsks = 1000

// part is what one shard of one sale is asked in one step.
type part struct {
	view  *view
	shard int
	asks  []*rushgate.Ask
	out   []*rushgate.Decision
	ids   map[rushgate.ID]bool
	items []string // as the call names them
	call  *call
	pulls int   // how often units were looked for elsewhere
	next  *part // what the same shard is asked afterwards
}

// Claim implements rushgate.Gate. An ask whose user or key contains a line
// break, or is longer than rushgate allows, is out of bounds too. Asks of
// different sales and shards are decided side by side.
func (g *Gate) Claim(ctx context.Context, _ time.Time, asks []rushgate.Ask, out []rushgate.Decision) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := inBounds(asks, out); err != nil {
		return err
	}
	parts := g.divide(ctx, asks, out)
	for len(parts) > 0 {
		calls := make([]*call, len(parts))
		for i, p := range parts {
			calls[i] = g.claimCall(p)
		}
		g.run(ctx, calls...)
		var rest []*part
		for _, p := range parts {
			if p.call.status == statusEpoch { // another picture, of another kind: written anew
				rest = append(rest, p)
				continue
			}
			g.decided(p)
			if short := g.again(ctx, p); short != nil {
				short.next = p.next
				rest = append(rest, short)
			} else if p.next != nil {
				rest = append(rest, p.next)
			}
		}
		parts = rest
	}
	return nil
}

// maxKey bounds a key with its scope, which is a user.
const maxKey = rushgate.MaxUser + 1 + rushgate.MaxKey

func inBounds(asks []rushgate.Ask, out []rushgate.Decision) error {
	if len(out) != len(asks) {
		return fmt.Errorf("%d asks with room for %d decisions", len(asks), len(out))
	}
	for i := range asks {
		a := &asks[i]
		switch {
		case a.ID <= 0 || a.Quantity <= 0 || a.Quantity > rushgate.MaxQuantity:
			return fmt.Errorf("ask %d of the batch is out of bounds: id %d, quantity %d", i, a.ID, a.Quantity)
		case len(a.User) > rushgate.MaxUser || len(a.Key) > maxKey || len(a.Item) > rushgate.MaxIDBytes,
			strings.IndexByte(a.User, '\n') >= 0, strings.IndexByte(a.Key, '\n') >= 0:
			return fmt.Errorf("ask %d of the batch is out of bounds: user %q, key %q", i, a.User, a.Key)
		}
	}
	return nil
}

// divide sorts asks by sale and shard, in their order, and answers at once
// those of sales that are not there.
func (g *Gate) divide(ctx context.Context, asks []rushgate.Ask, out []rushgate.Decision) []*part {
	var first []*part        // of each shard
	last := map[spot]*part{} // of each shard
	var v *view
	var at sight
	code := rushgate.Granted
	for i := range asks {
		a := &asks[i]
		if v == nil || v.id != a.Sale {
			v, code = g.sought(ctx, a.Sale)
			at = v.current()
		}
		out[i] = rushgate.Decision{Code: code, Slot: rushgate.NoSlot}
		if code != rushgate.Granted {
			continue
		}
		where := spot{v, shardOf(a.User, at.shards)}
		p := last[where]
		if p == nil {
			p = newPart(where)
			first = append(first, p)
			last[where] = p
		} else if len(p.asks) == maxAsks || p.ids[a.ID] {
			p.next = newPart(where)
			p = p.next
			last[where] = p
		}
		p.ids[a.ID] = true
		p.asks, p.out = append(p.asks, a), append(p.out, &out[i])
	}
	return first
}

type spot struct {
	view  *view
	shard int
}

func newPart(at spot) *part {
	return &part{view: at.view, shard: at.shard, ids: map[rushgate.ID]bool{}}
}

// sought returns the view of a sale, and how its asks are answered if they
// cannot be decided.
func (g *Gate) sought(ctx context.Context, sale string) (*view, rushgate.Code) {
	v, known, err := g.find(ctx, sale)
	switch {
	case err != nil:
		return &view{id: sale}, rushgate.Unavailable
	case !known:
		return v, rushgate.NotFound
	}
	return v, rushgate.Granted
}

// claimCall writes the asks of a part for claim.lua.
func (g *Gate) claimCall(p *part) *call {
	var items, lines, users, keys places
	var itemOf, quantityOf []int64
	at := p.view.current()
	tag := g.tag()
	record := make([]byte, 0, 64)
	body := make(pack, 0, 48*len(p.asks)).list(4 * len(p.asks))
	for _, a := range p.asks {
		record = append(strconv.AppendInt(record[:0], a.Quantity, 10), ' ')
		record = append(append(append(record, a.Item...), ' '), tag...)
		line, fresh := lines.of(record)
		if fresh {
			item, _ := items.of([]byte(a.Item))
			itemOf, quantityOf = append(itemOf, item), append(quantityOf, a.Quantity)
		}
		if record = record[:0]; at.limited {
			record = append(record, "0 "...)
		}
		if record = strconv.AppendInt(record, int64(a.ID), 10); at.limited {
			record = append(append(record, ' '), lines.list[line-1]...)
		}
		user, _ := users.of([]byte(a.User))
		var key int64
		if a.Key != "" {
			key, _ = keys.of([]byte(a.Key))
		}
		body = body.bytes(record).number(user).number(line).number(key)
	}
	b := make(pack, 0, len(body)+32*len(p.asks)+256).list(7).texts(items.list).texts(lines.list)
	b = b.numbers(itemOf).numbers(quantityOf).texts(users.list).texts(keys.list)
	b = append(b, body...)
	p.items = items.list
	p.call = &call{view: p.view, shard: p.shard, script: g.scripts.claim, made: at.epoch,
		copied: at.ack == rushgate.Replicated,
		args:   []string{strconv.Itoa(g.opts.Journal), tag, string(b)}}
	return p.call
}

// tag returns a name for an entry of the journal that no other batch ever had,
// of this node or another.
func (g *Gate) tag() string { return g.node + strconv.FormatInt(g.batches.Add(1), 36) }

// places numbers strings from 1, in the order in which they came.
type places struct {
	list  []string
	index map[string]int64
}

func (p *places) of(name []byte) (n int64, fresh bool) {
	if len(p.list) > 0 && p.list[len(p.list)-1] == string(name) {
		return int64(len(p.list)), false
	}
	if n, ok := p.index[string(name)]; ok {
		return n, false
	}
	if p.index == nil {
		p.index = map[string]int64{}
	}
	s := string(name)
	p.list = append(p.list, s)
	n = int64(len(p.list))
	p.index[s] = n
	return n, true
}

// decided turns the answer of a part into decisions. An answer that cannot be
// had or read makes all of them Unavailable: asked again, with their ids, they
// will be told.
func (g *Gate) decided(p *part) {
	c := p.call
	code := rushgate.Unavailable
	switch {
	case c.err != nil:
	case c.status == statusForgotten:
		code = rushgate.Forgot
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
		*d = rushgate.Decision{Code: code, Slot: rushgate.NoSlot}
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
	for i, d := range p.out {
		var word string
		word, text, _ = strings.Cut(text, " ")
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
