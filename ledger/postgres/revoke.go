package postgres

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"rushgate"
	"rushgate/ledger/entry"
)

// A revoked claim arrives in its end. One that is recorded already stays.
const sqlRevoke = `INSERT INTO claims
	(id, sale, round, item, user_id, slot, quantity, state, created_at, expires_at, ended_at)
	SELECT c.id, $1, 1, c.item, c.user_id, NULL, c.quantity, 'revoked', c.created_at, nullif(c.expires_at, 0), $2
	FROM unnest($3::bigint[], $4::text[], $5::text[], $6::bigint[], $7::bigint[], $8::bigint[])
		AS c(id, user_id, item, quantity, created_at, expires_at)
	ON CONFLICT ON CONSTRAINT claims_id DO NOTHING RETURNING id`

// revoke writes down claims that a gate lost.
func (t *tx) revoke(ctx context.Context, b *rushgate.Batch, r *rushgate.Revoke) error {
	r.Revoked = r.Revoked[:0]
	if len(r.Claims) == 0 {
		return nil
	}
	c := columnsOf(r.Claims)
	c.widen(b, r.Claims)
	var ids []int64
	t.query(func(rows pgx.Rows) (err error) {
		ids, err = pgx.CollectRows(rows, pgx.RowTo[int64])
		return err
	}, sqlRevoke, r.Sale, entry.Millis(b.At), c.id, c.user, c.item, c.quantity, c.created, c.expires)
	if err := t.flush(ctx); err != nil {
		return err
	}
	for _, c := range r.Claims {
		i := slices.Index(ids, int64(c.ID))
		if i < 0 {
			continue // it was there, or came twice
		}
		ids = slices.Delete(ids, i, i+1)
		c.Sale, c.Slot, c.State, c.Key, c.EndedAt = r.Sale, rushgate.NoSlot, rushgate.Revoked, "", b.At
		r.Revoked = append(r.Revoked, c)
	}
	if len(r.Revoked) == 0 {
		return nil
	}
	var told chapter
	revoked := entry.ClaimIDs(r.Revoked)
	told.add(int64(len(r.Revoked)), rushgate.ClaimRevoked, &revoked, nil)
	t.tell(b, r.Sale, nil, &told)
	return nil
}
