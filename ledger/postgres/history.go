package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"rushgate"
	"rushgate/ledger/entry"
)

// tallyHistory counts the events, and finds what in them does not fit the claims.
func tallyHistory(ctx context.Context, q querier, t *rushgate.Tally) error {
	c, err := chronicleOf(ctx, q, t.Sale.ID)
	if err != nil {
		return err
	}
	rows, err := q.Query(ctx, `SELECT seq, n, kind, claims FROM events WHERE sale = $1 ORDER BY seq`, t.Sale.ID)
	if err != nil {
		return err
	}
	var seq, n int64
	var kind string
	var claims pgtype.Text
	_, err = pgx.ForEachRow(rows, []any{&seq, &n, &kind, &claims}, func() error {
		c.Row(t, seq, n, rushgate.EventKind(kind), claims.String)
		return nil
	})
	c.End(t)
	return err
}

func chronicleOf(ctx context.Context, q querier, sale string) (*entry.Chronicle, error) {
	rows, err := q.Query(ctx, `SELECT id, state, expires_at IS NULL FROM claims WHERE sale = $1 ORDER BY id`, sale)
	if err != nil {
		return nil, err
	}
	c := &entry.Chronicle{}
	var id int64
	var state string
	var once bool
	_, err = pgx.ForEachRow(rows, []any{&id, &state, &once}, func() error {
		c.Add(id, rushgate.State(state), once)
		return nil
	})
	return c, err
}
