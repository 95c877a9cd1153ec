package redis

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"rushgate"
)

// pageClaims is how many entries of a journal are read at once.
const pageClaims = 500

// Orphans implements rushgate.Shared. It reads the journals page by page and
// stops when it has enough.
func (g *Gate) Orphans(ctx context.Context, sale string, age time.Duration, limit int) ([]rushgate.Claim, int64, error) {
	v, err := g.known(ctx, sale)
	if err != nil {
		return nil, 0, err
	}
	pictures, err := g.look(ctx, v)
	if err != nil {
		return nil, 0, err
	}
	var claims []rushgate.Claim
	at := v.current()
	for shard, p := range pictures {
		if p == nil {
			return nil, 0, forgot(sale)
		}
		if p.epoch != at.epoch || p.journal == 0 {
			continue
		}
		key := g.names.of(sale, shard, p.epoch)[4]
		if claims, err = g.journal(ctx, key, sale, p.at.Add(-age), claims, limit); err != nil {
			return nil, 0, fmt.Errorf("journal of sale %s, shard %d: %w", sale, shard, err)
		}
		if len(claims) >= limit {
			break
		}
	}
	return claims, at.epoch, nil
}

// journal appends the claims of one journal that were made until a moment. A
// claim that is seen twice, because the hash grew meanwhile, is appended once.
func (g *Gate) journal(ctx context.Context, key, sale string, until time.Time, claims []rushgate.Claim, limit int) ([]rushgate.Claim, error) {
	ctx, cancel := context.WithTimeout(ctx, g.opts.Patience)
	defer cancel()
	seen := map[rushgate.ID]bool{}
	for cursor := uint64(0); ; {
		page, err := g.client.Do(ctx, g.client.B().Hscan().Key(key).Cursor(cursor).Count(pageClaims).Build()).AsScanEntry()
		if err != nil {
			return nil, explain(err)
		}
		for i := 0; i+1 < len(page.Elements); i += 2 {
			c, err := entry(sale, page.Elements[i], page.Elements[i+1])
			if err != nil {
				return nil, err
			}
			if c.CreatedAt.After(until) || seen[c.ID] {
				continue
			}
			seen[c.ID] = true
			if claims = append(claims, c); len(claims) >= limit {
				return claims, nil
			}
		}
		if cursor = page.Cursor; cursor == 0 {
			return claims, nil
		}
	}
}

// entry reads a journal entry: see control.lua.
func entry(sale, id, text string) (c rushgate.Claim, err error) {
	bad := func(err error) (rushgate.Claim, error) {
		return c, fmt.Errorf("entry of claim %s: %q, %w", id, text, err)
	}
	parts := strings.SplitN(text, "\n", 4)
	if len(parts) != 4 {
		return bad(fmt.Errorf("%d lines", len(parts)))
	}
	if c.ID, err = rushgate.ParseID(id); err != nil {
		return bad(err)
	}
	quantity, item, _ := strings.Cut(parts[0], " ")
	c.Sale, c.Item, c.User, c.Key = sale, item, parts[2], parts[3]
	if c.Quantity, err = strconv.ParseInt(quantity, 10, 64); err != nil {
		return bad(err)
	}
	var slot, created, expires int64
	if _, err = fmt.Sscanf(parts[1], "%d %d %d", &slot, &created, &expires); err != nil {
		return bad(err)
	}
	c.Slot, c.CreatedAt = int32(slot), time.UnixMilli(created).UTC()
	if c.State = rushgate.Held; expires > 0 {
		c.ExpiresAt = time.UnixMilli(expires).UTC()
	} else {
		c.State, c.EndedAt = rushgate.Confirmed, c.CreatedAt
	}
	return c, nil
}

// Listen implements rushgate.Shared.
func (g *Gate) Listen(f func(sale string)) {}
