package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"rushgate"
	"rushgate/ledger/entry"
)

// Tally implements [rushgate.Ledger]. It needs 10 bytes of memory for each
// claim of the sale.
func (l *Ledger) Tally(ctx context.Context, sale string) (*rushgate.Tally, error) {
	t := &rushgate.Tally{OverLimit: map[string]int64{}, Claims: map[rushgate.State]int64{}, Events: map[rushgate.EventKind]int64{}}
	now := entry.Millis(l.opts.Now())
	err := l.readAtOnce(ctx, func(ctx context.Context, q querier) (err error) {
		if t.Sale, err = saleOf(ctx, q, sale); err != nil {
			return err
		}
		if err := q.QueryRow(ctx, `SELECT last_seq FROM sales WHERE id = $1`, sale).Scan(&t.LastSeq); err != nil {
			return err
		}
		for _, count := range []func(context.Context, querier, *rushgate.Tally) error{
			tallyItems, tallyUsers, tallySlots, tallyHistory,
		} {
			if err := count(ctx, q, t); err != nil {
				return err
			}
		}
		return tallyDue(ctx, q, t, now)
	})
	if err != nil {
		return nil, l.wrap("tally sale "+sale, err)
	}
	return t, nil
}

// tallyItems compares each stock row with the claims of its item.
func tallyItems(ctx context.Context, q querier, t *rushgate.Tally) error {
	stock, err := stockOf(ctx, q, t.Sale.ID)
	if err != nil {
		return err
	}
	at := map[string]int{}
	for i, s := range stock {
		t.Items = append(t.Items, rushgate.ItemTally{Stock: s})
		at[s.Item] = i
	}
	rows, err := q.Query(ctx,
		`SELECT item, state, count(*), sum(quantity)::bigint FROM claims WHERE sale = $1 GROUP BY item, state ORDER BY item`, t.Sale.ID)
	if err != nil {
		return err
	}
	var item, state string
	var n, units int64
	_, err = pgx.ForEachRow(rows, []any{&item, &state, &n, &units}, func() error {
		t.Claims[rushgate.State(state)] += n
		i, ok := at[item]
		if !ok { // claims of an item that is not there: a row with nothing but them
			i = len(t.Items)
			at[item] = i
			t.Items = append(t.Items, rushgate.ItemTally{Stock: rushgate.Stock{Item: item}})
		}
		switch rushgate.State(state) {
		case rushgate.Held:
			t.Items[i].CountedHeld += units
		case rushgate.Confirmed:
			t.Items[i].CountedConfirmed += units
		}
		return nil
	})
	return err
}

// tallyUsers counts users, and finds those who have too much.
func tallyUsers(ctx context.Context, q querier, t *rushgate.Tally) error {
	const active = ` FROM claims WHERE sale = $1 AND round = 1 AND state IN ('held', 'confirmed') `
	err := q.QueryRow(ctx, `SELECT count(*) FROM (SELECT DISTINCT user_id`+active+`) AS u`, t.Sale.ID).Scan(&t.Users)
	if err != nil || t.Sale.PerUser == 0 {
		return err
	}
	rows, err := q.Query(ctx, `SELECT user_id, sum(quantity)::bigint`+active+
		`GROUP BY user_id HAVING sum(quantity) > $2 LIMIT 10`, t.Sale.ID, t.Sale.PerUser)
	if err != nil {
		return err
	}
	var user string
	var units int64
	_, err = pgx.ForEachRow(rows, []any{&user, &units}, func() error {
		t.OverLimit[user] = units
		return nil
	})
	return err
}

func tallySlots(ctx context.Context, q querier, t *rushgate.Tally) error {
	return q.QueryRow(ctx, `SELECT count(*) FROM claims WHERE sale = $1 AND
		CASE WHEN state IN ('held', 'confirmed') THEN slot IS NULL AND $2 > 0 ELSE slot IS NOT NULL END`,
		t.Sale.ID, t.Sale.PerUser).Scan(&t.BadSlots)
}

func tallyDue(ctx context.Context, q querier, t *rushgate.Tally, now int64) error {
	var oldest pgtype.Int8
	err := q.QueryRow(ctx, `SELECT count(*), min(expires_at) FROM claims
		WHERE sale = $1 AND state = 'held' AND expires_at <= $2`, t.Sale.ID, now).Scan(&t.Overdue, &oldest)
	t.OldestDue = moment(oldest)
	return err
}
