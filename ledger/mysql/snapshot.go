package mysql

import (
	"context"
	"database/sql"
	"iter"

	"rushgate"
)

// Snapshot implements [rushgate.Ledger]. Claims come by ascending id, one at a
// time: the memory that a rebuild needs does not grow with the sale.
func (l *Ledger) Snapshot(ctx context.Context, sale string, use func(rushgate.Snapshot) error) error {
	err := l.readAtOnce(ctx, func(r reader) error {
		s, err := saleOf(ctx, r, sale)
		if err != nil {
			return err
		}
		stock, err := stockOf(ctx, r, sale)
		if err != nil {
			return err
		}
		snap := rushgate.Snapshot{Sale: s, Stock: stock, Claims: known(ctx, r, sale)}
		if err := r.QueryRowContext(ctx, `SELECT last_seq FROM sales WHERE id = ?`, sale).Scan(&snap.Seq); err != nil {
			return err
		}
		return use(snap)
	})
	return wrap("read a snapshot of sale "+sale, err)
}

// known yields the claims that a gate must know of.
func known(ctx context.Context, r reader, sale string) iter.Seq2[rushgate.Claim, error] {
	return func(yield func(rushgate.Claim, error) bool) {
		rows, err := r.QueryContext(ctx, `SELECT id, item, user_id, quantity, slot, state, idem_key FROM claims FORCE INDEX (claims_by_sale)
			WHERE sale = ? AND (state IN ('held', 'confirmed') OR idem_key IS NOT NULL) ORDER BY id`, sale)
		if err != nil {
			yield(rushgate.Claim{}, err)
			return
		}
		defer rows.Close()
		for rows.Next() {
			var c rushgate.Claim
			var slot sql.NullInt64
			var key sql.NullString
			err := rows.Scan(&c.ID, &c.Item, &c.User, &c.Quantity, &slot, &c.State, &key)
			c.Slot, c.Key = slotOf(slot), key.String
			if !yield(c, err) || err != nil {
				return
			}
		}
		if err := rows.Err(); err != nil {
			yield(rushgate.Claim{}, err)
		}
	}
}
