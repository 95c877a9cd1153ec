package mysql

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"rushgate"
	"rushgate/ledger/entry"
)

const claimColumns = `id, sale, item, user_id, slot, quantity, state, created_at, expires_at, ended_at, idem_key`

func scanClaim(row scanner) (rushgate.Claim, error) {
	var c rushgate.Claim
	var slot, created, expires, ended sql.NullInt64
	var key sql.NullString
	err := row.Scan(&c.ID, &c.Sale, &c.Item, &c.User, &slot, &c.Quantity, &c.State, &created, &expires, &ended, &key)
	c.Slot = slotOf(slot)
	c.CreatedAt, c.ExpiresAt, c.EndedAt, c.Key = entry.Moment(created), entry.Moment(expires), entry.Moment(ended), key.String
	return c, err
}

func slotOf(slot sql.NullInt64) int32 {
	if !slot.Valid {
		return rushgate.NoSlot
	}
	return int32(slot.Int64)
}

// scanClaims appends all rows to list, and closes them.
func scanClaims(rows *sql.Rows, list []rushgate.Claim) ([]rushgate.Claim, error) {
	defer rows.Close()
	for rows.Next() {
		c, err := scanClaim(rows)
		if err != nil {
			return nil, err
		}
		list = append(list, c)
	}
	return list, rows.Err()
}

// claimsOf appends the claims that a query finds to list.
func claimsOf(ctx context.Context, r reader, list []rushgate.Claim, query string, args ...any) ([]rushgate.Claim, error) {
	rows, err := r.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	return scanClaims(rows, list)
}

// Claim implements [rushgate.Ledger].
func (l *Ledger) Claim(ctx context.Context, id rushgate.ID) (rushgate.Claim, error) {
	c, err := scanClaim(l.short.QueryRowContext(ctx, `SELECT `+claimColumns+` FROM claims WHERE id = ?`, int64(id)))
	if errors.Is(err, errNoRows) {
		err = &rushgate.Error{Code: rushgate.NotFound, Message: fmt.Sprintf("there is no claim %d", id)}
	}
	return c, wrap("read a claim", err)
}

// Claims implements [rushgate.Ledger]. A user's claims are found by the user;
// everything else walks the claims of the sale by id. A Limit that is not
// positive is an error: a ledger never reads without bound.
func (l *Ledger) Claims(ctx context.Context, q rushgate.ClaimQuery) ([]rushgate.Claim, error) {
	if q.Limit <= 0 {
		return nil, errors.New("list claims: the limit must be positive")
	}
	query, args := claimsQuery(q)
	list, err := claimsOf(ctx, l.r, nil, query, args...)
	return list, wrap("list claims of sale "+q.Sale, err)
}

// claimsQuery returns the statement for a page of claims.
//
// A user's claims lie together in the key of slots, with their ids: those before
// the cursor are passed over there. The others are read and sorted, as MariaDB
// does not see that they are in order; a user with many thousands of claims in
// one sale pays for that.
func claimsQuery(q rushgate.ClaimQuery) (string, []any) {
	index, where, args := `claims_by_sale`, `sale = ?`, []any{q.Sale}
	if q.User != "" {
		index, where, args = `claims_slot`, where+` AND round = 1 AND user_id = ?`, append(args, q.User)
	}
	where, args = where+` AND id > ?`, append(args, int64(q.After))
	if q.Item != "" {
		where, args = where+` AND item = ?`, append(args, q.Item)
	}
	if q.State != "" {
		where, args = where+` AND state = ?`, append(args, string(q.State))
	}
	return `SELECT ` + claimColumns + ` FROM claims FORCE INDEX (` + index + `) WHERE ` + where + ` ORDER BY id LIMIT ?`, append(args, q.Limit)
}

// Find implements [rushgate.Ledger].
func (l *Ledger) Find(ctx context.Context, sale string, ids []rushgate.ID, keys []string) ([]rushgate.Claim, error) {
	var found []rushgate.Claim
	var err error
	for part := range slices.Chunk(ids, maxList) {
		if err == nil {
			found, err = claimsOf(ctx, l.short, found, `SELECT `+claimColumns+` FROM claims FORCE INDEX (PRIMARY)
				WHERE sale = ? AND id IN (`+marks(len(part))+`)`, append([]any{sale}, anys(part)...)...)
		}
	}
	for part := range slices.Chunk(keys, maxList) {
		if err == nil {
			found, err = claimsOf(ctx, l.short, found, `SELECT `+claimColumns+` FROM claims FORCE INDEX (claims_key)
				WHERE sale = ? AND idem_key IN (`+marks(len(part))+`)`, append([]any{sale}, anys(part)...)...)
		}
	}
	slices.SortFunc(found, func(a, b rushgate.Claim) int { return cmp.Compare(a.ID, b.ID) })
	found = slices.CompactFunc(found, func(a, b rushgate.Claim) bool { return a.ID == b.ID }) // by its id and by its key
	return found, wrap("find claims of sale "+sale, err)
}

// Expired implements [rushgate.Ledger].
func (l *Ledger) Expired(ctx context.Context, now time.Time, limit int) ([]rushgate.Claim, error) {
	if limit <= 0 {
		return nil, errors.New("list expired claims: the limit must be positive")
	}
	list, err := claimsOf(ctx, l.r, nil, `SELECT `+claimColumns+` FROM claims FORCE INDEX (claims_due)
		WHERE state = 'held' AND expires_at <= ? ORDER BY expires_at, id LIMIT ?`, entry.Millis(now), limit)
	return list, wrap("list expired claims", err)
}
