package mysql

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"rushgate"
	"rushgate/ledger/entry"
)

// eventRow is a row of the events table.
type eventRow struct {
	seq, n, at   int64
	kind         rushgate.EventKind
	claims, data sql.NullString
}

// Events implements [rushgate.Ledger]. A claim event carries the claim as it
// was after the change, but for its slot, which is not part of history and is
// always NoSlot.
func (l *Ledger) Events(ctx context.Context, sale string, after int64, limit int) ([]rushgate.Event, error) {
	if limit <= 0 {
		return nil, errors.New("list events: the limit must be positive")
	}
	if after == math.MaxInt64 {
		return nil, nil // no number is above it, not even after+1
	}
	list, err := eventsOf(ctx, l.r, sale, after, limit)
	return list, wrap("list events of sale "+sale, err)
}

// eventsOf needs no single moment: the claims that an event tells of are there
// when it is, and what it tells of them does not change any more.
func eventsOf(ctx context.Context, r reader, sale string, after int64, limit int) ([]rushgate.Event, error) {
	rows, err := eventRows(ctx, r, sale, after, limit)
	if err != nil {
		return nil, err
	}
	var list []rushgate.Event
	for _, row := range rows {
		if list, err = row.expand(ctx, r, list, sale, after, limit); err != nil {
			return nil, fmt.Errorf("event %d: %w", row.seq, err)
		}
	}
	return list, nil
}

// eventRows reads the rows that tell the events after+1 … after+limit: the
// first may begin before that.
func eventRows(ctx context.Context, r reader, sale string, after int64, limit int) ([]eventRow, error) {
	last := after + min(int64(limit), math.MaxInt64-max(after, 0))
	rows, err := r.QueryContext(ctx, `SELECT seq, n, kind, at, claims, data FROM events WHERE sale = ?
		AND seq >= COALESCE((SELECT MAX(e.seq) FROM events AS e WHERE e.sale = ? AND e.seq <= ?), 0)
		AND seq <= ? ORDER BY seq`, sale, sale, after+1, last)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var list []eventRow
	for rows.Next() {
		var e eventRow
		if err := rows.Scan(&e.seq, &e.n, &e.kind, &e.at, &e.claims, &e.data); err != nil {
			return nil, err
		}
		if e.seq+e.n-1 > after {
			list = append(list, e)
		}
	}
	return list, rows.Err()
}

// expand appends the events of a row, from after+1 on and up to limit in all.
func (e *eventRow) expand(ctx context.Context, r reader, list []rushgate.Event, sale string, after int64, limit int) ([]rushgate.Event, error) {
	ev := rushgate.Event{Sale: sale, Seq: e.seq, Kind: e.kind, At: time.UnixMilli(e.at).UTC()}
	if !e.claims.Valid {
		var t entry.Told
		if err := json.Unmarshal([]byte(e.data.String), &t); err != nil {
			return nil, err
		}
		if t.Sale != nil {
			ev.State = t.Sale.Sale(sale)
		}
		ev.Item, ev.Add = t.Item, t.Add
		return append(list, ev), nil
	}
	skip := max(0, after+1-e.seq)
	claims, err := e.tellClaims(ctx, r, skip, limit-len(list))
	for i := range claims {
		ev.Seq, ev.Claim = e.seq+skip+int64(i), &claims[i]
		list = append(list, ev)
	}
	return list, err
}

// tellClaims reads limit claims of a row, past the first skip, as they were
// after its change.
func (e *eventRow) tellClaims(ctx context.Context, r reader, skip int64, limit int) ([]rushgate.Claim, error) {
	var ids []rushgate.ID
	if err := json.Unmarshal([]byte(e.claims.String), &ids); err != nil {
		return nil, err
	}
	ids = ids[min(skip, int64(len(ids))):]
	ids = ids[:min(limit, len(ids))]
	at := make(map[rushgate.ID]int, len(ids)) // where in the list it stands
	for i, id := range ids {
		at[id] = i
	}
	claims := make([]rushgate.Claim, 0, len(ids))
	for part := range slices.Chunk(ids, maxList) {
		var err error
		claims, err = claimsOf(ctx, r, claims, `SELECT id, sale, item, user_id, NULL, quantity, state, created_at, expires_at, ended_at, idem_key
			FROM claims FORCE INDEX (PRIMARY) WHERE id IN (`+marks(len(part))+`)`, anys(part)...)
		if err != nil {
			return nil, err
		}
	}
	slices.SortFunc(claims, func(a, b rushgate.Claim) int { return at[a.ID] - at[b.ID] })
	for i := range claims {
		c := &claims[i]
		if c.State = rushgate.StateOf(e.kind); c.State == rushgate.Held {
			c.EndedAt = time.Time{}
		}
	}
	return claims, nil
}
