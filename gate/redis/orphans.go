package redis

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"rushgate"
)

// pageEntries is about how many entries of a journal are read at once.
const pageEntries = 50

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
			return nil, 0, forgot(v)
		}
		if p.epoch != at.epoch || p.fields["waiting"] == "0" {
			continue
		}
		key := g.names.of(sale, shard, p.epoch)[4]
		if claims, err = g.journal(ctx, v, key, p.at.Add(-age), claims, limit); err != nil {
			return nil, 0, fmt.Errorf("journal of sale %s, shard %d: %w", sale, shard, err)
		}
		if len(claims) >= limit {
			break
		}
	}
	return claims, at.epoch, nil
}

// journal appends the claims of one journal that were made until a moment. An
// entry that is seen twice, because the hash grew meanwhile, is read once.
func (g *Gate) journal(ctx context.Context, v *view, key string, until time.Time, claims []rushgate.Claim, limit int) ([]rushgate.Claim, error) {
	ctx, cancel := context.WithTimeout(ctx, g.opts.Patience)
	defer cancel()
	seen := map[string]bool{}
	for cursor := uint64(0); ; {
		page, err := g.client.Do(ctx, g.client.B().Hscan().Key(key).Cursor(cursor).Count(pageEntries).Build()).AsScanEntry()
		if err != nil {
			return nil, explain(err)
		}
		for i := 0; i+1 < len(page.Elements); i += 2 {
			tag := page.Elements[i]
			if seen[tag] {
				continue
			}
			seen[tag] = true
			found, err := entry(v.id, page.Elements[i+1])
			if err != nil {
				return nil, fmt.Errorf("entry %s: %w", tag, err)
			}
			if len(found) == 0 || found[0].CreatedAt.After(until) {
				continue
			}
			found = found[:min(len(found), limit-len(claims))]
			for i := range found {
				v.tags.remember(found[i].ID, tag)
			}
			if claims = append(claims, found...); len(claims) >= limit {
				return claims, nil
			}
		}
		if cursor = page.Cursor; cursor == 0 {
			return claims, nil
		}
	}
}

// entry reads the claims of a journal entry: see journal.lua.
func entry(sale, text string) ([]rushgate.Claim, error) {
	u := &unpacker{rest: []byte(text)}
	if n := u.list(); n != 7 {
		return nil, errMalformed
	}
	u.flag() // whole
	made, expires := u.number(), u.number()
	for range u.list() / 2 { // units
		u.text()
		u.number()
	}
	slots := u.numbers()
	b, n := &unpacker{rest: []byte(u.text())}, u.number()
	if n := b.list(); u.err != nil || n != 10 {
		return nil, errors.Join(errMalformed, u.err)
	}
	items, _, itemOf, quantityOf := b.texts(), b.texts(), b.numbers(), b.numbers()
	users, keys := b.texts(), b.texts()
	asks, userOf, lineOf, keyOf := b.texts(), b.numbers(), b.numbers(), b.numbers()
	if len(slots) == 0 || len(slots) != 1 && len(slots) != len(asks) || n != int64(len(asks)) {
		return nil, errors.Join(errMalformed, b.err)
	}
	claims := make([]rushgate.Claim, 0, len(asks))
	for i, ask := range asks {
		id, err := idOf(ask)
		user, line, key := at(userOf, i, int64(i+1)), at(lineOf, i, 1), at(keyOf, i, 0)
		if err != nil || b.err != nil || !within(user, users) || !within(line, itemOf) ||
			!within(line, quantityOf) || !within(itemOf[line-1], items) || key != 0 && !within(key, keys) {
			return nil, errors.Join(errMalformed, b.err, err)
		}
		c := rushgate.Claim{ID: id, Sale: sale, Item: items[itemOf[line-1]-1], User: users[user-1], Quantity: quantityOf[line-1],
			Slot: int32(at(slots, i, slots[0])), State: rushgate.Held, CreatedAt: time.UnixMilli(made).UTC()}
		if key != 0 {
			c.Key = keys[key-1]
		}
		if expires > 0 {
			c.ExpiresAt = time.UnixMilli(expires).UTC()
		} else {
			c.State, c.EndedAt = rushgate.Confirmed, c.CreatedAt
		}
		claims = append(claims, c)
	}
	return claims, b.err
}

// at returns an element of a column, or what it is where the column was left out.
func at(column []int64, i int, plain int64) int64 {
	if i < len(column) {
		return column[i]
	}
	return plain
}

// within says that a place, from 1, is one of a list.
func within[T any](n int64, list []T) bool { return n >= 1 && n <= int64(len(list)) }

// idOf reads the id of an ask: alone, or in its record.
func idOf(ask string) (rushgate.ID, error) {
	if _, rest, record := strings.Cut(ask, " "); record {
		ask, _, _ = strings.Cut(rest, " ")
	}
	return rushgate.ParseID(ask)
}
