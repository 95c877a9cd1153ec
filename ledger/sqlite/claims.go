package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
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

// Claim implements [rushgate.Ledger].
func (l *Ledger) Claim(ctx context.Context, id rushgate.ID) (rushgate.Claim, error) {
	var c rushgate.Claim
	err := l.readShortly(ctx, func(r reader) (err error) {
		c, err = scanClaim(r.QueryRowContext(ctx, `SELECT `+claimColumns+` FROM claims WHERE id = ?`, int64(id)))
		return err
	})
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
	var list []rushgate.Claim
	err := l.read(ctx, func(r reader) error {
		rows, err := r.QueryContext(ctx, query, args...)
		if err == nil {
			list, err = scanClaims(rows, nil)
		}
		return err
	})
	return list, wrap("list claims of sale "+q.Sale, err)
}

// claimsQuery returns the statement for a page of claims.
//
// A user's claims lie together in the index of slots, by slot and then by id.
// Those without a slot, of which there may be any number, are so found in the
// order of the page, from its beginning on; those with one are no more than
// the limit of the sale, and are sorted. The plus keeps the planner from
// walking the ids of a whole sale for the few claims of one user.
func claimsQuery(q rushgate.ClaimQuery) (string, []any) {
	const all = `SELECT ` + claimColumns + ` FROM claims WHERE sale = ?1`
	filter := ` AND (?4 = '' OR item = ?4) AND (?5 = '' OR +state = ?5) ORDER BY id LIMIT ?6`
	args := []any{q.Sale, int64(q.After), q.User, q.Item, string(q.State), q.Limit}
	if q.User == "" {
		return all + ` AND id > ?2` + filter, args
	}
	const user = all + ` AND round = 1 AND user_id = ?3`
	return `SELECT * FROM (` + user + ` AND slot IS NULL AND id > ?2` + filter + `)
		UNION ALL SELECT * FROM (` + user + ` AND slot >= 0 AND +id > ?2` + filter + `) ORDER BY 1 LIMIT ?6`, args
}

// Find implements [rushgate.Ledger].
func (l *Ledger) Find(ctx context.Context, sale string, ids []rushgate.ID, keys []string) ([]rushgate.Claim, error) {
	list := keys
	if list == nil {
		list = []string{}
	}
	wanted, err := json.Marshal(list)
	if err != nil {
		return nil, err
	}
	numbers, err := json.Marshal(append([]rushgate.ID{}, ids...))
	if err != nil {
		return nil, err
	}
	var found []rushgate.Claim
	err = l.readShortly(ctx, func(r reader) error {
		rows, err := r.QueryContext(ctx, `SELECT `+claimColumns+` FROM claims WHERE id IN (SELECT value FROM json_each(?2)) AND sale = ?1
			UNION SELECT `+claimColumns+` FROM claims WHERE sale = ?1 AND idem_key IN (SELECT value FROM json_each(?3))`,
			sale, string(numbers), string(wanted))
		if err == nil {
			found, err = scanClaims(rows, nil)
		}
		return err
	})
	return found, wrap("find claims of sale "+sale, err)
}

// Expired implements [rushgate.Ledger].
func (l *Ledger) Expired(ctx context.Context, now time.Time, limit int) ([]rushgate.Claim, error) {
	if limit <= 0 {
		return nil, errors.New("list expired claims: the limit must be positive")
	}
	var list []rushgate.Claim
	err := l.read(ctx, func(r reader) error {
		rows, err := r.QueryContext(ctx, `SELECT `+claimColumns+` FROM claims
			WHERE state = 'held' AND expires_at <= ? ORDER BY expires_at, id LIMIT ?`, entry.Millis(now), limit)
		if err == nil {
			list, err = scanClaims(rows, nil)
		}
		return err
	})
	return list, wrap("list expired claims", err)
}
