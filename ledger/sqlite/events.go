package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"
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
	var list []rushgate.Event
	err := l.readAtOnce(ctx, func(r reader) error {
		rows, err := eventRows(ctx, r, sale, after, limit)
		if err != nil {
			return err
		}
		for _, row := range rows {
			if list, err = row.expand(ctx, r, list, sale, after, limit); err != nil {
				return fmt.Errorf("event %d: %w", row.seq, err)
			}
		}
		return nil
	})
	return list, wrap("list events of sale "+sale, err)
}

// eventRows reads the rows that tell the events after+1 … after+limit: the
// first may begin before that.
func eventRows(ctx context.Context, r reader, sale string, after int64, limit int) ([]eventRow, error) {
	last := after + min(int64(limit), math.MaxInt64-max(after, 0))
	rows, err := r.QueryContext(ctx, `SELECT seq, n, kind, at, claims, data FROM events WHERE sale = ?1
		AND seq >= coalesce((SELECT max(seq) FROM events WHERE sale = ?1 AND seq <= ?2), 0)
		AND seq <= ?3 ORDER BY seq`, sale, after+1, last)
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
	rows, err := r.QueryContext(ctx, `SELECT c.id, c.sale, c.item, c.user_id, NULL, c.quantity, c.state,
		c.created_at, c.expires_at, c.ended_at, c.idem_key
		FROM json_each(?1) AS e CROSS JOIN claims AS c ON c.id = e.value
		WHERE e.key >= ?2 ORDER BY e.key LIMIT ?3`, e.claims.String, skip, limit)
	if err != nil {
		return nil, err
	}
	claims, err := scanClaims(rows, nil)
	for i := range claims {
		c := &claims[i]
		if c.State = rushgate.StateOf(e.kind); c.State == rushgate.Held {
			c.EndedAt = time.Time{}
		}
	}
	return claims, err
}
