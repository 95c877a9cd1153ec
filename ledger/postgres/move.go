package postgres

import (
	"fmt"

	"github.com/jackc/pgx/v5"

	"rushgate"
	"rushgate/ledger/entry"
)

// One statement moves the claims, gives their units to whom they belong, and
// tells of it. The claims are found by their ids alone: the detours over the
// other columns keep the planner from walking a whole sale, or all that are held.
const (
	sqlMove = `WITH m AS (
		UPDATE claims SET state = $2::text, ended_at = $4, slot = CASE $2::text WHEN 'confirmed' THEN slot END
		WHERE id = ANY($1) AND sale || '' = $3 AND state || '' = 'held' AND expires_at + 0 `
	sqlMoved = ` $4 RETURNING ` + claimColumns + `
	), stock AS (
		UPDATE items SET
			taken = taken - CASE $2::text WHEN 'confirmed' THEN 0 ELSE u.units END,
			confirmed = confirmed + CASE $2::text WHEN 'confirmed' THEN u.units ELSE 0 END
		FROM (SELECT item AS it, sum(quantity)::bigint AS units FROM m GROUP BY item) AS u
		WHERE sale = $3 AND round = 1 AND item = u.it
	), s AS (
		UPDATE sales SET last_seq = last_seq + k.n FROM (SELECT count(*) AS n FROM m) AS k
		WHERE id = $3 AND k.n > 0 RETURNING last_seq - k.n + 1 AS first, k.n
	), told AS (
		INSERT INTO events (sale, seq, n, kind, at, batch, claims)
		SELECT $3, s.first, s.n, 'claim.' || $2::text, $4, $5, (SELECT '[' || string_agg(id::text, ',' ORDER BY id) || ']' FROM m) FROM s
	)
	SELECT ` + claimColumns + ` FROM m`
	sqlMoveLive = sqlMove + `>` + sqlMoved
	sqlMoveDue  = sqlMove + `<=` + sqlMoved
)

// move takes held claims to their final state.
func (t *tx) move(b *rushgate.Batch, m *rushgate.Move) error {
	m.Moved = m.Moved[:0]
	sql := sqlMoveLive
	switch m.To {
	case rushgate.Confirmed, rushgate.Released:
	case rushgate.ExpiredState:
		sql = sqlMoveDue
	default:
		return fmt.Errorf("claims cannot be moved to %q", m.To)
	}
	if len(m.IDs) == 0 {
		return nil
	}
	t.query(func(rows pgx.Rows) (err error) {
		m.Moved, err = scanClaims(rows, m.Moved)
		if codeOf(err) == codeCheck {
			_, detail := constraint(err)
			return &rushgate.BarrierError{Barrier: rushgate.BarrierStock, Sale: m.Sale,
				Detail: "the stock does not have what its claims give back or confirm: " + detail}
		}
		return err
	}, sql, numbers(m.IDs), string(m.To), m.Sale, entry.Millis(b.At), b.ID)
	return nil
}

func numbers(ids []rushgate.ID) []int64 {
	list := make([]int64, len(ids))
	for i, id := range ids {
		list[i] = int64(id)
	}
	return list
}
