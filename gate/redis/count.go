package redis

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"rushgate"
)

// picture is control of one shard, read.
type picture struct {
	head
	skew    skew
	fields  map[string]string
	free    map[string]int64
	pending map[string]int64 // units in the journal
	out     []transfer       // units that left for another shard
	in      map[string]time.Time
}

// look reads control of every shard. A nil picture is one that is not there. It
// looks again when another picture was met meanwhile: that may have more shards,
// and not be on all of them yet.
func (g *Gate) look(ctx context.Context, v *view) (pictures []*picture, err error) {
	for range mostLooks {
		before := v.current()
		pictures, err = g.lookAt(ctx, v, max(1, before.shards))
		if err != nil || v.current().epoch == before.epoch {
			break
		}
	}
	return pictures, err
}

// mostLooks bounds how often a sale is looked at again because it has changed.
const mostLooks = 8

func (g *Gate) lookAt(ctx context.Context, v *view, shards int) ([]*picture, error) {
	calls := make([]*call, shards)
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
	p := &picture{head: c.head, skew: c.skew(), fields: map[string]string{}, free: map[string]int64{}, pending: map[string]int64{},
		in: map[string]time.Time{}}
	words := c.words()
	fields, err := strconv.Atoi(words[0])
	if err != nil {
		return nil, err
	}
	for i := 1; i+1 < len(words) && err == nil; i += 2 {
		if i > 2*fields {
			err = p.move(c.shard, words[i], words[i+1])
		} else {
			err = p.field(words[i], words[i+1])
		}
	}
	return p, err
}

// field reads a field of control.
func (p *picture) field(name, value string) (err error) {
	if item, ok := strings.CutPrefix(name, "free:"); ok {
		p.free[item], err = strconv.ParseInt(value, 10, 64)
	} else if item, ok := strings.CutPrefix(name, "unsettled:"); ok {
		p.pending[item], err = strconv.ParseInt(value, 10, 64)
	} else {
		p.fields[name] = value
	}
	return err
}

// still looks until no unit has moved between two shards meanwhile, so that
// none is seen twice or not at all. Where they move all the time, the last look
// has to do.
func (g *Gate) still(ctx context.Context, v *view) (pictures []*picture, err error) {
	before := ""
	for range mostLooks {
		if pictures, err = g.look(ctx, v); err != nil || len(pictures) == 1 {
			return pictures, err
		}
		now := ""
		for _, p := range pictures {
			if p != nil {
				now += p.fields["epoch"] + " " + p.fields["moves"] + ","
			}
		}
		if now == before {
			return pictures, nil
		}
		before = now
	}
	return pictures, nil
}

// Count implements rushgate.Gate. Units on their way between two shards are free.
func (g *Gate) Count(ctx context.Context, sale string) ([]rushgate.Count, error) {
	v, err := g.known(ctx, sale)
	if err != nil {
		return nil, err
	}
	pictures, err := g.still(ctx, v)
	if err != nil {
		return nil, err
	}
	g.learnPictures(v, pictures)
	index := map[string]int{}
	var counts []rushgate.Count
	for _, p := range pictures {
		if p == nil {
			return nil, forgot(v)
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
	for _, t := range onTheirWay(pictures) {
		counts[index[t.item]].Free += t.units
	}
	return counts, nil
}

// onTheirWay returns the transfers of which the units are on no shard.
func onTheirWay(pictures []*picture) []transfer {
	var list []transfer
	for _, p := range pictures {
		for _, t := range p.out {
			if t.to < len(pictures) && pictures[t.to].in[t.token].IsZero() {
				list = append(list, t)
			}
		}
	}
	return list
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
