package redis

import (
	"context"
	"errors"
	"strconv"
	"time"
)

// countRest is how many times longer than reading everybody took, the gate
// waits before it does it again.
const countRest = 10

// scanCount is about how many fields of a hash one page has.
const scanCount = 1000

var errTooMany = errors.New("more users and keys than the option Known allows")

// countEach reads everybody of the sales that want it, one sale at a time.
func (g *Gate) countEach(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case v := <-g.watch.uncounted:
			if began := time.Now(); began.After(v.nextCount) {
				g.count(ctx, v)
				v.nextCount = time.Now().Add(countRest * time.Since(began))
			}
		}
	}
}

// count makes the set of everybody who has something in a sale, by reading all
// holders and keys. It runs when a sale is sold out and this node does not know
// who has something; others are refused without asking Redis from then on.
func (g *Gate) count(ctx context.Context, v *view) {
	h := v.hints.Load()
	if h == nil || !h.wanting() {
		return
	}
	r := h.rules.Load()
	pictures, err := g.look(ctx, v)
	if err != nil || r == nil {
		return
	}
	from := make([]int64, len(pictures))
	for i, p := range pictures {
		if p == nil || p.epoch != h.epoch {
			return
		}
		from[i], _ = strconv.ParseInt(p.fields["grants"], 10, 64)
	}
	s := h.begin(from, g.opts.Known)
	for shard := range pictures {
		keys := g.names.of(v.id, shard, h.epoch)
		if r.sale.PerUser > 0 {
			err = g.scan(ctx, keys[2], s, h.seeds.user)
		}
		if err == nil {
			err = g.scan(ctx, keys[3], s, h.seeds.key)
		}
		if err != nil {
			g.opts.Log.Warn("who has something cannot be read; refusals go on through Redis", "sale", v.id, "error", err)
			break
		}
	}
	h.end(s, err == nil)
}

// scan adds the fields of a hash to a set.
func (g *Gate) scan(ctx context.Context, key string, s *census, hash func(string) uint64) error {
	var names []uint64
	for cursor := uint64(0); ; {
		within, cancel := context.WithTimeout(ctx, g.opts.Timeout)
		page, err := g.client.Do(within, g.client.B().Hscan().Key(key).Cursor(cursor).Count(scanCount).Build()).AsScanEntry()
		cancel()
		if err != nil {
			return explain(err)
		}
		names = names[:0]
		for i := 0; i < len(page.Elements); i += 2 {
			names = append(names, hash(page.Elements[i]))
		}
		if !s.set.add(names...) {
			return errTooMany
		}
		if cursor = page.Cursor; cursor == 0 {
			return nil
		}
	}
}
