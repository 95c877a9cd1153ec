package mysql

import (
	"slices"

	"rushgate"
	"rushgate/ledger/entry"
)

// revoke writes down claims that a gate lost. One that is recorded already
// stays as it is.
func (t *tx) revoke(b *rushgate.Batch, r *rushgate.Revoke) error {
	r.Revoked = r.Revoked[:0]
	there := map[rushgate.ID]bool{}
	for part := range slices.Chunk(r.Claims, maxList) {
		if err := t.lookFor(part, there); err != nil {
			return err
		}
	}
	for _, c := range r.Claims {
		if there[c.ID] {
			continue
		}
		there[c.ID] = true
		c.Sale, c.Slot, c.State, c.Key, c.EndedAt = r.Sale, rushgate.NoSlot, rushgate.Revoked, "", b.At
		r.Revoked = append(r.Revoked, c)
	}
	if len(r.Revoked) == 0 {
		return nil
	}
	for rest := r.Revoked; len(rest) > 0; {
		run := entry.Alike(rest)
		rest = rest[len(run):]
		if err := t.insert(b, r.Sale, run); err != nil {
			return err
		}
	}
	if err := t.nextSeq(r.Sale, len(r.Revoked)); err != nil {
		return err
	}
	return t.tell(b, r.Sale, len(r.Revoked), 0, rushgate.ClaimRevoked, entry.ClaimIDs(r.Revoked), nil)
}

// lookFor notes which claims are recorded.
func (t *tx) lookFor(claims []rushgate.Claim, there map[rushgate.ID]bool) error {
	args := make([]any, len(claims))
	for i := range claims {
		args[i] = int64(claims[i].ID)
	}
	rows, err := t.QueryContext(t.ctx, `SELECT id FROM claims WHERE id IN (`+marks(len(args))+`)`, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var id rushgate.ID
		if err := rows.Scan(&id); err != nil {
			return err
		}
		there[id] = true
	}
	return rows.Err()
}
