package redis

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"rushgate"
)

// A sale in several shards has a slice of its stock on each. Where a slice does
// not suffice, units are moved from the richest shard, in three steps:
//
//  1. the rich shard deducts them and writes down that they are on their way,
//  2. the poor one adds them and writes down that they came,
//  3. the rich one forgets that they are on their way.
//
// Each step is one script and can be repeated. A node that dies between the
// first and the last leaves a note, by which Mend goes on. Nothing is ever free
// on two shards: units are taken before they are given.

// mostPulls is how often a batch looks for units elsewhere before it gives up.
const mostPulls = 16

// transfer is one move of units between shards.
type transfer struct {
	token    string
	item     string
	units    int64
	from, to int
	at       time.Time // by the clock of the shard that they left
}

// again looks for units for those asks of a part that its slice of the stock
// did not suffice for, and returns them to be asked again, or nil when nothing
// is left anywhere: only then are they sold out.
func (g *Gate) again(ctx context.Context, p *part) *part {
	at := p.view.current()
	if at.shards <= 1 || p.call.status != statusOK || p.call.err != nil {
		return nil
	}
	need := map[string]int64{}
	rest := newPart(spot{p.view, p.shard})
	rest.pulls = p.pulls + 1
	for i, d := range p.out {
		if a := p.asks[i]; d.Code == rushgate.SoldOut {
			need[a.Item] += a.Quantity
			rest.ids[a.ID] = true
			rest.asks, rest.out = append(rest.asks, a), append(rest.out, d)
		}
	}
	if len(need) == 0 {
		return nil
	}
	worth, err := g.pull(ctx, p, need, rest.asks)
	if err == nil && !worth {
		return nil
	}
	if err == nil && rest.pulls < mostPulls {
		return rest
	}
	if err != nil {
		g.opts.Log.Warn("units of other shards cannot be reached", "sale", p.view.id, "shard", p.shard, "error", err)
	}
	for _, d := range rest.out { // there are some, or nobody knows
		*d = rushgate.Decision{Code: rushgate.Unavailable, Slot: rushgate.NoSlot}
	}
	return nil
}

// pull moves units to the shard of a part. worth says that one of the asks may
// be granted now.
func (g *Gate) pull(ctx context.Context, p *part, need map[string]int64, asks []*rushgate.Ask) (worth bool, err error) {
	pictures, err := g.look(ctx, p.view)
	if err != nil {
		return false, err
	}
	for _, of := range pictures {
		if of == nil || of.epoch != pictures[0].epoch {
			return true, nil // another picture: asking again tells
		}
	}
	g.learnPictures(p.view, pictures)
	for item, units := range need {
		least := units
		for _, a := range asks {
			if a.Item == item {
				least = min(least, a.Quantity)
			}
		}
		var all int64
		for _, of := range pictures {
			all += of.free[item]
			for _, t := range of.out {
				if t.item == item {
					all += t.units // somebody moves them: they are free somewhere in a moment
				}
			}
		}
		if all < least {
			continue
		}
		worth = true
		if err := g.bring(ctx, p.view, p.shard, item, min(units, all), pictures); err != nil {
			return false, err
		}
	}
	return worth, nil
}

// bring moves units of an item to a shard until it has so many, as far as there
// are that many. It takes half of what the richest shard has more, so that the
// slices even out and the next ones find some.
func (g *Gate) bring(ctx context.Context, v *view, to int, item string, units int64, pictures []*picture) error {
	order := make([]int, 0, len(pictures))
	for shard := range pictures {
		if shard != to && pictures[shard].free[item] > 0 {
			order = append(order, shard)
		}
	}
	slices.SortFunc(order, func(a, b int) int { return int(pictures[b].free[item] - pictures[a].free[item]) })
	has := pictures[to].free[item]
	if len(order) == 0 { // what there is is on its way: see that it arrives
		_, err := g.Mend(ctx, v.id)
		return err
	}
	for _, from := range order {
		if has >= units {
			break
		}
		t := transfer{item: item, from: from, to: to, token: rand.Text(), units: max(units-has, (pictures[from].free[item]-has)/2)}
		moved, err := g.move(ctx, v, pictures[from].epoch, t)
		if err != nil {
			return err
		}
		has += moved
	}
	return nil
}

// move carries out a transfer, and returns how many units it moved.
func (g *Gate) move(ctx context.Context, v *view, epoch int64, t transfer) (int64, error) {
	c := &call{view: v, shard: t.from, script: g.scripts.moveOut, epoch: epoch, patient: true,
		args: []string{t.token, t.item, strconv.FormatInt(t.units, 10), strconv.Itoa(t.to)}}
	g.run(ctx, c)
	if err := c.moved(); err != nil || c.status == statusEpoch {
		return 0, err
	}
	words := c.words()
	units, err := strconv.ParseInt(words[0], 10, 64)
	if err != nil || units == 0 {
		return 0, err
	}
	g.learnFree(c, []string{t.item, words[1]})
	t.units = units
	g.opts.Observe(Incident{Kind: Moved, Sale: v.id, Shard: t.to, N: int(units)})
	return units, g.arrive(ctx, v, epoch, t)
}

// arrive takes a transfer from its second step to its end.
func (g *Gate) arrive(ctx context.Context, v *view, epoch int64, t transfer) error {
	in := &call{view: v, shard: t.to, script: g.scripts.moveIn, epoch: epoch, patient: true,
		args: []string{t.token, t.item, strconv.FormatInt(t.units, 10)}}
	g.run(ctx, in)
	if err := in.moved(); err != nil || in.status == statusEpoch {
		return err
	}
	g.learnFree(in, []string{t.item, in.words()[0]})
	return g.movesDone(ctx, v, epoch, t.from, "out:"+t.token)
}

func (g *Gate) movesDone(ctx context.Context, v *view, epoch int64, shard int, fields ...string) error {
	c := &call{view: v, shard: shard, script: g.scripts.moveDone, epoch: epoch, patient: true, args: fields}
	g.run(ctx, c)
	return c.moved()
}

// moved returns the error of a step. That there is another picture by now is
// none: it has all units, and the move has become meaningless.
func (c *call) moved() error {
	if c.err == nil && c.status == statusEpoch {
		return nil
	}
	return c.outcome()
}

// Units are on their way for moments. Mend takes over what is older; and it
// keeps in mind what arrived for far longer than anybody goes on asking.
const (
	mendAfter   = 2 * time.Second
	arrivedLong = 10 * time.Minute
)

// Mend brings units to their end that a node left on their way between two
// shards when it died, and returns how many there were. It may be called at any
// time, by any number of nodes.
func (g *Gate) Mend(ctx context.Context, sale string) (units int64, err error) {
	v, err := g.known(ctx, sale)
	if err != nil {
		return 0, err
	}
	pictures, err := g.look(ctx, v)
	if err != nil {
		return 0, err
	}
	var errs []error
	going := map[string]bool{}
	for _, p := range pictures {
		if p == nil || p.epoch != pictures[0].epoch {
			return 0, nil // the ledger knows better what there is
		}
		for _, t := range p.out {
			going[t.token] = true
		}
	}
	for shard, p := range pictures {
		for _, t := range p.out {
			if p.at.Sub(t.at) < mendAfter {
				continue
			}
			if err := g.arrive(ctx, v, p.epoch, t); err != nil {
				errs = append(errs, fmt.Errorf("%d units of item %s on their way to shard %d: %w", t.units, t.item, t.to, err))
				continue
			}
			units += t.units
		}
		var over []string
		for token, at := range p.in {
			if !going[token] && p.at.Sub(at) > arrivedLong && len(over) < maxAsks {
				over = append(over, "in:"+token)
			}
		}
		if len(over) > 0 {
			errs = append(errs, g.movesDone(ctx, v, p.epoch, shard, over...))
		}
	}
	if units > 0 {
		g.opts.Log.Warn("units that were left between two shards have arrived", "sale", sale, "units", units)
	}
	return units, errors.Join(errs...)
}

// move reads a field of moves.
func (p *picture) move(shard int, name, value string) error {
	bad := fmt.Errorf("a move %s: %q", name, value)
	if token, ok := strings.CutPrefix(name, "in:"); ok {
		ms, err := strconv.ParseInt(value, 10, 64)
		p.in[token] = time.UnixMilli(ms)
		return err
	}
	token, ok := strings.CutPrefix(name, "out:")
	words := strings.Split(value, " ")
	if !ok || len(words) != 4 {
		return bad
	}
	t := transfer{token: token, item: words[0], from: shard}
	var n [3]int64
	for i := range n {
		var err error
		if n[i], err = strconv.ParseInt(words[i+1], 10, 64); err != nil {
			return bad
		}
	}
	t.units, t.to, t.at = n[0], int(n[1]), time.UnixMilli(n[2])
	p.out = append(p.out, t)
	return nil
}
