package postgres

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"rushgate"
	"rushgate/ledger/entry"
)

const claimColumns = `id, sale, item, user_id, slot, quantity, state, created_at, expires_at, ended_at, idem_key`

func scanClaim(row pgx.CollectableRow) (rushgate.Claim, error) {
	var c rushgate.Claim
	var slot pgtype.Int4
	var created, expires, ended pgtype.Int8
	var key pgtype.Text
	err := row.Scan((*int64)(&c.ID), &c.Sale, &c.Item, &c.User, &slot, &c.Quantity, (*string)(&c.State), &created, &expires, &ended, &key)
	c.Slot = slotOf(slot)
	c.CreatedAt, c.ExpiresAt, c.EndedAt, c.Key = moment(created), moment(expires), moment(ended), key.String
	return c, err
}

func slotOf(slot pgtype.Int4) int32 {
	if !slot.Valid {
		return rushgate.NoSlot
	}
	return slot.Int32
}

// scanClaims appends all rows to list.
func scanClaims(rows pgx.Rows, list []rushgate.Claim) ([]rushgate.Claim, error) {
	return pgx.AppendRows(list, rows, scanClaim)
}

// Claim implements [rushgate.Ledger].
func (l *Ledger) Claim(ctx context.Context, id rushgate.ID) (c rushgate.Claim, err error) {
	err = l.readShortly(ctx, func(ctx context.Context, q querier) error {
		c, err = one(ctx, q, scanClaim, `SELECT `+claimColumns+` FROM claims WHERE id = $1`, int64(id))
		return err
	})
	if isNoRows(err) {
		err = &rushgate.Error{Code: rushgate.NotFound, Message: fmt.Sprintf("there is no claim %d", id)}
	}
	return c, l.wrap("read a claim", err)
}

// Claims implements [rushgate.Ledger]. A user's claims are found by the user;
// everything else walks the claims of the sale by id. A Limit that is not
// positive is an error: a ledger never reads without bound.
func (l *Ledger) Claims(ctx context.Context, q rushgate.ClaimQuery) ([]rushgate.Claim, error) {
	if q.Limit <= 0 {
		return nil, errors.New("list claims: the limit must be positive")
	}
	sql, args := claimsQuery(q)
	var page []rushgate.Claim
	err := l.read(ctx, func(ctx context.Context, r querier) (err error) {
		page, err = list(ctx, r, scanClaim, sql, args...)
		return err
	})
	return page, l.wrap("list claims of sale "+q.Sale, err)
}

// claimsQuery returns the statement for a page of claims. The detour over id
// keeps the planner from walking the ids of a whole sale for the few claims of
// one user; that over state, from walking all that are held.
func claimsQuery(q rushgate.ClaimQuery) (string, []any) {
	sql := `SELECT ` + claimColumns + ` FROM claims WHERE sale = $1 AND id > $2`
	args := []any{q.Sale, int64(q.After)}
	and := func(column, value string) {
		if value != "" {
			args = append(args, value)
			sql += ` AND ` + column + ` = $` + strconv.Itoa(len(args))
		}
	}
	order := `id`
	if q.User != "" {
		sql += ` AND round = 1`
		order = `id + 0`
	}
	and(`user_id`, q.User)
	and(`item`, q.Item)
	and(`state || ''`, string(q.State))
	args = append(args, q.Limit)
	return sql + ` ORDER BY ` + order + ` LIMIT $` + strconv.Itoa(len(args)), args
}

// Find implements [rushgate.Ledger].
func (l *Ledger) Find(ctx context.Context, sale string, ids []rushgate.ID, keys []string) ([]rushgate.Claim, error) {
	var found []rushgate.Claim
	err := l.readShortly(ctx, func(ctx context.Context, q querier) (err error) {
		found, err = list(ctx, q, scanClaim, `SELECT `+claimColumns+` FROM claims WHERE id = ANY($2) AND sale || '' = $1
			UNION SELECT `+claimColumns+` FROM unnest($3::text[]) AS k(wanted), claims
				WHERE sale = $1 AND idem_key = k.wanted AND idem_key IS NOT NULL`,
			sale, numbers(ids), keys)
		return err
	})
	return found, l.wrap("find claims of sale "+sale, err)
}

// Expired implements [rushgate.Ledger].
func (l *Ledger) Expired(ctx context.Context, now time.Time, limit int) ([]rushgate.Claim, error) {
	if limit <= 0 {
		return nil, errors.New("list expired claims: the limit must be positive")
	}
	var due []rushgate.Claim
	err := l.read(ctx, func(ctx context.Context, q querier) (err error) {
		due, err = list(ctx, q, scanClaim, `SELECT `+claimColumns+` FROM claims
			WHERE state = 'held' AND expires_at <= $1 ORDER BY expires_at, id LIMIT $2`, entry.Millis(now), limit)
		return err
	})
	return due, l.wrap("list expired claims", err)
}
