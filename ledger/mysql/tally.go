package mysql

import (
	"context"
	"database/sql"

	"rushgate"
	"rushgate/ledger/entry"
)

// Tally implements [rushgate.Ledger]. It needs 10 bytes of memory for each
// claim of the sale. OldestDue and Overdue are by this node's clock.
func (l *Ledger) Tally(ctx context.Context, sale string) (*rushgate.Tally, error) {
	t := &rushgate.Tally{OverLimit: map[string]int64{}, Claims: map[rushgate.State]int64{}, Events: map[rushgate.EventKind]int64{}}
	now := entry.Millis(l.opts.Now())
	err := l.readAtOnce(ctx, func(r reader) (err error) {
		if t.Sale, err = saleOf(ctx, r, sale); err != nil {
			return err
		}
		if err := r.QueryRowContext(ctx, `SELECT last_seq FROM sales WHERE id = ?`, sale).Scan(&t.LastSeq); err != nil {
			return err
		}
		for _, count := range []func(context.Context, reader, *rushgate.Tally) error{
			tallyItems, tallyUsers, tallySlots, tallyHistory,
		} {
			if err := count(ctx, r, t); err != nil {
				return err
			}
		}
		return tallyDue(ctx, r, t, now)
	})
	if err != nil {
		return nil, wrap("tally sale "+sale, err)
	}
	return t, nil
}

// tallyItems compares each stock row with the claims of its item.
func tallyItems(ctx context.Context, r reader, t *rushgate.Tally) error {
	stock, err := stockOf(ctx, r, t.Sale.ID)
	if err != nil {
		return err
	}
	at := map[string]int{}
	for i, s := range stock {
		t.Items = append(t.Items, rushgate.ItemTally{Stock: s})
		at[s.Item] = i
	}
	rows, err := r.QueryContext(ctx,
		`SELECT item, state, count(*), sum(quantity) FROM claims WHERE sale = ? GROUP BY item, state`, t.Sale.ID)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var item string
		var state rushgate.State
		var n, units int64
		if err := rows.Scan(&item, &state, &n, &units); err != nil {
			return err
		}
		t.Claims[state] += n
		i, ok := at[item]
		if !ok { // claims of an item that is not there: a row with nothing but them
			i = len(t.Items)
			at[item] = i
			t.Items = append(t.Items, rushgate.ItemTally{Stock: rushgate.Stock{Item: item}})
		}
		switch state {
		case rushgate.Held:
			t.Items[i].CountedHeld += units
		case rushgate.Confirmed:
			t.Items[i].CountedConfirmed += units
		}
	}
	return rows.Err()
}

// tallyUsers walks the unique index, in which a user's claims lie together.
func tallyUsers(ctx context.Context, r reader, t *rushgate.Tally) error {
	const active = ` FROM claims FORCE INDEX (claims_slot) WHERE sale = ? AND round = 1 AND state IN ('held', 'confirmed') `
	err := r.QueryRowContext(ctx, `SELECT count(DISTINCT user_id)`+active, t.Sale.ID).Scan(&t.Users)
	if err != nil || t.Sale.PerUser == 0 {
		return err
	}
	rows, err := r.QueryContext(ctx, `SELECT user_id, sum(quantity)`+active+
		`GROUP BY user_id HAVING sum(quantity) > ? LIMIT 10`, t.Sale.ID, t.Sale.PerUser)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var user string
		var units int64
		if err := rows.Scan(&user, &units); err != nil {
			return err
		}
		t.OverLimit[user] = units
	}
	return rows.Err()
}

func tallySlots(ctx context.Context, r reader, t *rushgate.Tally) error {
	return r.QueryRowContext(ctx, `SELECT count(*) FROM claims WHERE sale = ? AND
		CASE WHEN state IN ('held', 'confirmed') THEN slot IS NULL AND ? > 0 ELSE slot IS NOT NULL END`,
		t.Sale.ID, t.Sale.PerUser).Scan(&t.BadSlots)
}

func tallyDue(ctx context.Context, r reader, t *rushgate.Tally, now int64) error {
	var oldest sql.NullInt64
	err := r.QueryRowContext(ctx, `SELECT count(*), min(expires_at) FROM claims FORCE INDEX (claims_due)
		WHERE state = 'held' AND expires_at <= ? AND sale = ?`, now, t.Sale.ID).Scan(&t.Overdue, &oldest)
	t.OldestDue = entry.Moment(oldest)
	return err
}
