package sqlite

import (
	"context"

	"rushgate"
	"rushgate/ledger/entry"
)

// A revoked claim arrives in its end. One that is recorded already stays.
const sqlRevoke = `INSERT INTO claims
	(id, sale, round, item, user_id, slot, quantity, state, created_at, expires_at, ended_at)
	VALUES (?, ?, 1, ?, ?, NULL, ?, 'revoked', ?, ?, ?) ON CONFLICT (id) DO NOTHING`

// revokeAll writes down claims that a gate lost. There are few: each is a
// statement.
func (w *writer) revokeAll(ctx context.Context, b *rushgate.Batch, r *rushgate.Revoke) error {
	r.Revoked = r.Revoked[:0]
	for _, c := range r.Claims {
		done, err := w.revoke.ExecContext(ctx, int64(c.ID), r.Sale, c.Item, c.User, c.Quantity,
			entry.Millis(c.CreatedAt), entry.OrNull(c.ExpiresAt), entry.Millis(b.At))
		if err != nil {
			return err
		}
		if n, err := done.RowsAffected(); err != nil {
			return err
		} else if n == 1 {
			c.Sale, c.Slot, c.State, c.Key, c.EndedAt = r.Sale, rushgate.NoSlot, rushgate.Revoked, "", b.At
			r.Revoked = append(r.Revoked, c)
		}
	}
	if len(r.Revoked) == 0 {
		return nil
	}
	n := int64(len(r.Revoked))
	last, err := w.nextSeq(ctx, r.Sale, n)
	if err != nil {
		return err
	}
	return w.tell(ctx, b, r.Sale, last, n, rushgate.ClaimRevoked, idList(r.Revoked, idOf), nil)
}
