package mysql

import (
	"context"
	"database/sql"

	"rushgate"
	"rushgate/ledger/entry"
)

// tallyHistory counts the events, and finds what in them does not fit the claims.
func tallyHistory(ctx context.Context, r reader, t *rushgate.Tally) error {
	c, err := chronicleOf(ctx, r, t.Sale.ID)
	if err != nil {
		return err
	}
	rows, err := r.QueryContext(ctx, `SELECT seq, n, kind, claims FROM events WHERE sale = ? ORDER BY seq`, t.Sale.ID)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var seq, n int64
		var kind rushgate.EventKind
		var claims sql.NullString
		if err := rows.Scan(&seq, &n, &kind, &claims); err != nil {
			return err
		}
		c.Row(t, seq, n, kind, claims.String)
	}
	c.End(t)
	return rows.Err()
}

func chronicleOf(ctx context.Context, r reader, sale string) (*entry.Chronicle, error) {
	rows, err := r.QueryContext(ctx, `SELECT id, state, expires_at IS NULL FROM claims FORCE INDEX (claims_by_sale) WHERE sale = ? ORDER BY id`, sale)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	c := &entry.Chronicle{}
	for rows.Next() {
		var id int64
		var state sql.RawBytes
		var once bool
		if err := rows.Scan(&id, &state, &once); err != nil {
			return nil, err
		}
		c.Add(id, rushgate.State(state), once)
	}
	return c, rows.Err()
}
