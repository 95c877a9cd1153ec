package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"rushgate"
	"rushgate/ledger/entry"
)

// eventRow is a row of the events table.
type eventRow struct {
	seq, n, at   int64
	kind         rushgate.EventKind
	claims, data pgtype.Text
	wanted       []int64 // those of its claims that are asked for
	first        int64   // the number of the first of them
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
	var told []rushgate.Event
	// A claim that an event tells of was committed with it or before: what is
	// read after the events need not be of the same moment.
	err := l.read(ctx, func(ctx context.Context, q querier) error {
		rows, err := eventRows(ctx, q, sale, after, limit)
		if err != nil {
			return err
		}
		claims, err := claimsOf(ctx, q, rows)
		if err != nil {
			return err
		}
		told = nil
		for i := range rows {
			if told, err = rows[i].expand(told, sale, claims); err != nil {
				return fmt.Errorf("event %d: %w", rows[i].seq, err)
			}
		}
		return nil
	})
	return told, l.wrap("list events of sale "+sale, err)
}

// eventRows reads the rows that tell the events after+1 … after+limit: the
// first may begin before that.
func eventRows(ctx context.Context, q querier, sale string, after int64, limit int) ([]eventRow, error) {
	last := after + min(int64(limit), math.MaxInt64-max(after, 0))
	all, err := list(ctx, q, func(row pgx.CollectableRow) (e eventRow, err error) {
		if err = row.Scan(&e.seq, &e.n, (*string)(&e.kind), &e.at, &e.claims, &e.data); err == nil {
			err = e.want(after, last)
		}
		return e, err
	}, `SELECT seq, n, kind, at, claims, data FROM events WHERE sale = $1
		AND seq >= coalesce((SELECT max(seq) FROM events WHERE sale = $1 AND seq <= $2), 0)
		AND seq <= $3 ORDER BY seq`, sale, after+1, last)
	if len(all) > 0 && all[0].seq+all[0].n-1 <= after {
		all = all[1:]
	}
	return all, err
}

// want reads the ids of the claims of a row whose numbers are above after, up to last.
func (e *eventRow) want(after, last int64) error {
	if !e.claims.Valid {
		return nil
	}
	if err := json.Unmarshal([]byte(e.claims.String), &e.wanted); err != nil {
		return fmt.Errorf("event %d: %w", e.seq, err)
	}
	n := int64(len(e.wanted))
	skip := min(max(0, after+1-e.seq), n)
	e.wanted, e.first = e.wanted[skip:min(n, last-e.seq+1)], e.seq+skip
	return nil
}

// claimsOf reads the claims that events tell of.
func claimsOf(ctx context.Context, q querier, rows []eventRow) (map[int64]rushgate.Claim, error) {
	var ids []int64
	for i := range rows {
		ids = append(ids, rows[i].wanted...)
	}
	if len(ids) == 0 {
		return nil, nil
	}
	all, err := list(ctx, q, scanClaim, `SELECT `+claimColumns+` FROM claims WHERE id = ANY($1)`, ids)
	claims := make(map[int64]rushgate.Claim, len(all))
	for _, c := range all {
		claims[int64(c.ID)] = c
	}
	return claims, err
}

// expand appends the events of a row that are asked for.
func (e *eventRow) expand(told []rushgate.Event, sale string, claims map[int64]rushgate.Claim) ([]rushgate.Event, error) {
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
		return append(told, ev), nil
	}
	for i, id := range e.wanted {
		c, there := claims[id]
		if !there {
			return nil, fmt.Errorf("its claim %d is not there", id)
		}
		if c.Slot, c.State = rushgate.NoSlot, rushgate.StateOf(e.kind); c.State == rushgate.Held {
			c.EndedAt = time.Time{}
		}
		ev.Seq, ev.Claim = e.first+int64(i), &c
		told = append(told, ev)
	}
	return told, nil
}
