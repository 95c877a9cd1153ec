package redis

import (
	"context"
	"errors"
	"fmt"

	"rushgate"
)

// Settle implements rushgate.Gate.
func (g *Gate) Settle(ctx context.Context, claims []rushgate.Claim) error {
	return g.each(ctx, claims, func(v *view, part []*rushgate.Claim) (*script, []string) {
		return g.scripts.settle, []string{v.tags.settled(part)}
	})
}

// Return implements rushgate.Gate.
func (g *Gate) Return(ctx context.Context, claims []rushgate.Claim) error {
	return g.each(ctx, claims, func(_ *view, part []*rushgate.Claim) (*script, []string) {
		return g.scripts.takeback, []string{"return", takenBack(part)}
	})
}

// Forget implements rushgate.Gate.
func (g *Gate) Forget(ctx context.Context, claims []rushgate.Claim) error {
	return g.each(ctx, claims, func(_ *view, part []*rushgate.Claim) (*script, []string) {
		return g.scripts.takeback, []string{"forget", takenBack(part)}
	})
}

// takenBack writes claims for takeback.lua.
func takenBack(claims []*rushgate.Claim) string {
	var users places
	body := make(pack, 0, 64*len(claims)).list(3 * len(claims))
	for _, c := range claims {
		user, _ := users.of([]byte(c.User))
		body = body.text(c.ID.String()).number(user).text(c.Key)
	}
	return string(append(make(pack, 0, 2*len(body)).list(2).texts(users.list), body...))
}

// each changes claims where they are, shard by shard. It goes on after an
// error, so that one bad shard does not strand the units of the others. A sale
// that Redis does not know has nothing to change.
func (g *Gate) each(ctx context.Context, claims []rushgate.Claim, write func(*view, []*rushgate.Claim) (*script, []string)) error {
	parts := map[spot][]*rushgate.Claim{}
	var order []spot
	var v *view
	var errs []error
	known := false
	for i := range claims {
		c := &claims[i]
		if v == nil || v.id != c.Sale {
			var err error
			if v, known, err = g.find(ctx, c.Sale); err != nil {
				errs = append(errs, fmt.Errorf("sale %s: %w", c.Sale, err))
				v, known = &view{id: c.Sale}, false
			}
		}
		if !known || c.ID <= 0 {
			continue
		}
		at := spot{v, shardOf(c.User, v.current().shards)}
		if len(parts[at]) == 0 {
			order = append(order, at)
		}
		parts[at] = append(parts[at], c)
	}
	for len(order) > 0 {
		var calls []*call
		var rest []spot
		for _, at := range order {
			n := min(len(parts[at]), maxAsks)
			script, args := write(at.view, parts[at][:n])
			calls = append(calls, &call{view: at.view, shard: at.shard, script: script, args: args, patient: true})
			if parts[at] = parts[at][n:]; len(parts[at]) > 0 {
				rest = append(rest, at)
			}
		}
		g.run(ctx, calls...)
		for _, c := range calls {
			if err := c.outcome(); err != nil && rushgate.CodeOf(err) != rushgate.NotFound {
				errs = append(errs, fmt.Errorf("shard %d of sale %s: %w", c.shard, c.view.id, err))
			} else if err == nil && c.script == g.scripts.takeback {
				g.learnFree(c, c.words())
			}
		}
		order = rest
	}
	return errors.Join(errs...)
}

// outcome returns the error of a change, nil when it was made.
func (c *call) outcome() error {
	switch {
	case c.err != nil:
		return c.err
	case c.status == statusOK:
		return nil
	case c.status == statusNone:
		return noSale(c.view.id)
	case c.status == statusForgotten, c.status == statusLost:
		return forgot(c.view)
	case c.status == statusStale:
		return rushgate.ErrStale
	case c.status == statusLoading:
		return loadingNow(c.view.id)
	}
	return fmt.Errorf("a script answers %q", c.status)
}

// words returns what follows the head of an answer.
func (c *call) words() []string {
	words := make([]string, len(c.rest))
	for i := range c.rest {
		words[i], _ = c.rest[i].ToString()
	}
	return words
}
