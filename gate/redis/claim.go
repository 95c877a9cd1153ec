package redis

import (
	"context"
	"fmt"
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
	pulls int   // how often units were looked for elsewhere, or another picture was met
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
			if c := p.call; c.err == nil && c.status == statusEpoch && p.pulls < mostPulls {
				p.pulls++ // another picture, maybe of another kind: it is written anew
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
