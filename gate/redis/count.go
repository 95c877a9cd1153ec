package redis

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"rushgate"
)

// picture is control of one shard, read.
type picture struct {
	head
	fields  map[string]string
	free    map[string]int64
	pending map[string]int64 // units in the journal
}

// look reads control of every shard. A nil picture is one that is not there.
func (g *Gate) look(ctx context.Context, v *view) ([]*picture, error) {
	calls := make([]*call, max(1, v.current().shards))
	for i := range calls {
		calls[i] = &call{view: v, shard: i, script: g.scripts.look, patient: true}
	}
	g.run(ctx, calls...)
	pictures := make([]*picture, len(calls))
	for i, c := range calls {
		if c.err == nil && (c.status == statusNone || c.status == statusForgotten) {
			continue
		}
		if err := c.outcome(); err != nil {
			return nil, err
		}
		p, err := c.picture()
		if err != nil {
			return nil, fmt.Errorf("control of sale %s, shard %d: %w", v.id, i, err)
		}
		pictures[i] = p
	}
	return pictures, nil
}

// picture reads the answer of look.lua.
func (c *call) picture() (*picture, error) {
	p := &picture{head: c.head, fields: map[string]string{}, free: map[string]int64{}, pending: map[string]int64{}}
	for i := 0; i+1 < len(c.rest); i += 2 {
		name, _ := c.rest[i].ToString()
		value, _ := c.rest[i+1].ToString()
		into, item := p.free, strings.TrimPrefix(name, "free:")
		if item == name {
			into, item = p.pending, strings.TrimPrefix(name, "unsettled:")
		}
		if item == name {
			p.fields[name] = value
			continue
		}
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			return nil, err
		}
		into[item] = n
	}
	return p, nil
}

// Count implements rushgate.Gate.
func (g *Gate) Count(ctx context.Context, sale string) ([]rushgate.Count, error) {
	v, err := g.known(ctx, sale)
	if err != nil {
		return nil, err
	}
	pictures, err := g.look(ctx, v)
	if err != nil {
		return nil, err
	}
	g.learnPictures(v, pictures)
	index := map[string]int{}
	var counts []rushgate.Count
	for _, p := range pictures {
		if p == nil {
			return nil, forgot(sale)
		}
		for item, free := range p.free {
			n, ok := index[item]
			if !ok {
				n = len(counts)
				index[item] = n
				counts = append(counts, rushgate.Count{Item: item})
			}
			counts[n].Free += free
			counts[n].Unsettled += p.pending[item]
		}
	}
	return counts, nil
}

// Mark implements rushgate.Shared. A picture that cannot be trusted is none.
func (g *Gate) Mark(ctx context.Context, sale string) (rushgate.Mark, error) {
	v, known, err := g.find(ctx, sale)
	if err != nil || !known {
		return rushgate.Mark{}, err
	}
	pictures, err := g.look(ctx, v)
	if err != nil {
		return rushgate.Mark{}, err
	}
	return markOf(pictures), nil
}
