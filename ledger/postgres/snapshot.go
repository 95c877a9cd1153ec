package postgres

import (
	"context"
	"iter"

	"github.com/jackc/pgx/v5/pgtype"

	"rushgate"
)

// Snapshot implements [rushgate.Ledger]. Claims come by ascending id, one at a
// time: the memory that a rebuild needs does not grow with the sale. use may
// write to the ledger meanwhile; what it writes is not in the snapshot.
func (l *Ledger) Snapshot(ctx context.Context, sale string, use func(rushgate.Snapshot) error) error {
	// Whoever stops in the middle does not wait for the rest: the end of ctx
	// closes the connection.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	begun, used := false, error(nil)
	err := l.readAtOnce(ctx, func(ctx context.Context, q querier) error {
		s, err := saleOf(ctx, q, sale)
		if err != nil {
			return err
		}
		stock, err := stockOf(ctx, q, sale)
		if err != nil {
			return err
		}
		snap := rushgate.Snapshot{Sale: s, Stock: stock, Claims: known(ctx, cancel, q, sale)}
		if err := q.QueryRow(ctx, `SELECT last_seq FROM sales WHERE id = $1`, sale).Scan(&snap.Seq); err != nil {
			return err
		}
		begun, used = true, use(snap)
		return used
	})
	if begun {
		err = used // how the transaction ended afterwards matters to nobody
	}
	return l.wrap("read a snapshot of sale "+sale, err)
}

// known yields the claims that a gate must know of.
func known(ctx context.Context, stop func(), q querier, sale string) iter.Seq2[rushgate.Claim, error] {
	return func(yield func(rushgate.Claim, error) bool) {
		rows, err := q.Query(ctx, `SELECT id, item, user_id, quantity, slot, state, idem_key FROM claims
			WHERE sale = $1 AND (state IN ('held', 'confirmed') OR idem_key IS NOT NULL) ORDER BY id`, sale)
		if err != nil {
			yield(rushgate.Claim{}, err)
			return
		}
		defer rows.Close()
		for rows.Next() {
			var c rushgate.Claim
			var slot pgtype.Int4
			var key pgtype.Text
			err := rows.Scan((*int64)(&c.ID), &c.Item, &c.User, &c.Quantity, &slot, (*string)(&c.State), &key)
			c.Slot, c.Key = slotOf(slot), key.String
			if !yield(c, err) || err != nil {
				stop()
				return
			}
		}
		if err := rows.Err(); err != nil {
			yield(rushgate.Claim{}, err)
		}
	}
}
