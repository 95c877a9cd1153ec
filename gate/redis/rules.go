package redis

import (
	"context"
	"crypto/rand"
	"fmt"
	"strconv"
	"time"

	"rushgate"
)

// Put implements rushgate.Gate: when it returns nil, every shard has the rules.
// The same rules in the same version may be put again, and are after a Put that
// reached only some shards.
//
// The first shard comes first: of two nodes that change the rules at the same
// time, it lets one pass, and the others only follow it.
func (g *Gate) Put(ctx context.Context, p *rushgate.Put) error {
	s := p.Sale
	v, err := g.known(ctx, s.ID)
	if err != nil {
		return err
	}
	args := append([]string{strconv.FormatInt(s.Epoch, 10), strconv.FormatInt(s.Version, 10), strconv.FormatInt(p.Was, 10)}, rulesOf(s)...)
	calls := make([]*call, v.current().shards)
	for i := range calls {
		calls[i] = &call{view: v, shard: i, script: g.scripts.put, args: args, patient: true}
	}
	for _, part := range [][]*call{calls[:1], calls[1:]} {
		if err := g.putAll(ctx, s.ID, part); err != nil {
			return err
		}
	}
	if h := v.hintsOf(calls[0]); h != nil {
		h.put(s)
	}
	return nil
}

func (g *Gate) putAll(ctx context.Context, sale string, calls []*call) error {
	if len(calls) == 0 {
		return nil
	}
	g.run(ctx, calls...)
	for _, c := range calls {
		if c.err == nil && c.status == "kind" {
			return fmt.Errorf("the limit of sale %s cannot change between none and some without a load", sale)
		}
		if err := c.outcome(); err != nil {
			return fmt.Errorf("rules of sale %s on shard %d: %w", sale, c.shard, err)
		}
	}
	return nil
}

// rulesOf returns the fields of control that are rules, per_user first.
func rulesOf(s *rushgate.Sale) []string {
	return []string{
		"per_user", strconv.FormatInt(s.PerUser, 10),
		"opens", moment(s.OpensAt), "closes", moment(s.ClosesAt),
		"hold", strconv.FormatInt(s.Hold.Milliseconds(), 10),
		"frozen", flag(s.Frozen), "ended", flag(s.Ended), "ack", string(s.Ack),
	}
}

// moment writes a time in milliseconds, 0 for none.
func moment(t time.Time) string {
	if t.IsZero() {
		return "0"
	}
	return strconv.FormatInt(max(t.UnixMilli(), 1), 10)
}

func flag(b bool) string {
	if b {
		return "1"
	}
	return "0"
}

// onceFor is how long a shard remembers that it made a change that has no
// other name: longer than any call goes on asking.
const onceFor = 2 * time.Minute

// Restock implements rushgate.Gate. An unknown sale or item, and units out of
// bounds, are errors. Of a sale in several shards, the first one gets the units,
// and the others fetch them when they want them; and what is to be taken is
// fetched there first, so that it is taken in one step.
func (g *Gate) Restock(ctx context.Context, r *rushgate.Restock) (bool, error) {
	if r.Add < -rushgate.MaxStock || r.Add > rushgate.MaxStock {
		return false, fmt.Errorf("restock of sale %s by %d is out of bounds", r.Sale, r.Add)
	}
	v, err := g.known(ctx, r.Sale)
	if err != nil {
		return false, err
	}
	for range mostPulls {
		enough, err := g.restock(ctx, v, r)
		if enough || err != nil || v.current().shards == 1 {
			return enough, err
		}
		pictures, err := g.still(ctx, v)
		if err != nil {
			return false, err
		}
		var free int64
		for _, p := range pictures {
			if p == nil || p.epoch != pictures[0].epoch {
				return false, forgot(v)
			}
			free += p.free[r.Item]
		}
		for _, t := range onTheirWay(pictures) {
			if t.item == r.Item {
				free += t.units
			}
		}
		if free+r.Add < 0 {
			return false, nil
		}
		if err := g.bring(ctx, v, 0, r.Item, -r.Add, pictures); err != nil {
			return false, err
		}
	}
	return false, fmt.Errorf("restock of sale %s by %d: the units are claimed and moved all the time", r.Sale, r.Add)
}

// restock changes what is free on the first shard.
func (g *Gate) restock(ctx context.Context, v *view, r *rushgate.Restock) (bool, error) {
	token := rand.Text()
	c := &call{view: v, script: g.scripts.restock, patient: true, extra: []string{g.names.once(r.Sale, 0, token)},
		args: []string{strconv.FormatInt(r.Epoch, 10), r.Item, strconv.FormatInt(r.Add, 10),
			strconv.FormatInt(rushgate.MaxStock, 10), strconv.FormatInt(onceFor.Milliseconds(), 10)}}
	g.run(ctx, c)
	switch {
	case c.err == nil && c.status == "item":
		return false, &rushgate.Error{Code: rushgate.NotFound,
			Message: fmt.Sprintf("the gate has no item %q in sale %s", r.Item, r.Sale)}
	case c.err == nil && c.status == "bounds":
		return false, fmt.Errorf("restock of sale %s: %d more are out of bounds", r.Sale, r.Add)
	}
	if err := c.outcome(); err != nil {
		return false, fmt.Errorf("restock of sale %s: %w", r.Sale, err)
	}
	words := c.words()
	g.learnFree(c, []string{r.Item, words[1]})
	return words[0] == "1", nil
}
