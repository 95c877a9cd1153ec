package postgres

import (
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"rushgate"
	"rushgate/ledger/entry"
)

const (
	// Claims that differ in nothing but id, user, slot and key.
	sqlClaims = `INSERT INTO claims
		(id, sale, round, item, user_id, slot, quantity, state, created_at, expires_at, ended_at, idem_key)
		SELECT c.id, $1, 1, $2, c.user_id, nullif(c.slot, -1), $3, $4, $5, $6, $7, nullif(c.key, '')
		FROM unnest($8::bigint[], $9::text[], $10::int[], $11::text[]) AS c(id, user_id, slot, key)`

	// Claims of any kind. Moments are 0 for none.
	sqlWideClaims = `INSERT INTO claims
		(id, sale, round, item, user_id, slot, quantity, state, created_at, expires_at, ended_at, idem_key)
		SELECT c.id, $1, 1, c.item, c.user_id, nullif(c.slot, -1), c.quantity, c.state, c.created_at,
			nullif(c.expires_at, 0), nullif(c.ended_at, 0), nullif(c.key, '')
		FROM unnest($2::bigint[], $3::text[], $4::int[], $5::text[], $6::text[], $7::bigint[], $8::text[], $9::bigint[], $10::bigint[], $11::bigint[])
			AS c(id, user_id, slot, key, item, quantity, state, created_at, expires_at, ended_at)`

	// The stock rows from which units cannot be taken, and whether they are there.
	sqlTake = `WITH u AS (
			SELECT * FROM unnest($2::text[], $3::bigint[], $4::bigint[]) AS u(item, taken, confirmed)
		), done AS (
			UPDATE items SET taken = items.taken + u.taken, confirmed = items.confirmed + u.confirmed FROM u
			WHERE items.sale = $1 AND items.round = 1 AND items.item = u.item AND items.taken + u.taken <= items.total
			RETURNING items.item
		)
		SELECT u.item, u.taken, EXISTS (SELECT 1 FROM items WHERE sale = $1 AND round = 1 AND item = u.item)
		FROM u WHERE u.item NOT IN (SELECT item FROM done)`

	// Users of a batch who have too much after it. The unique index finds the
	// claims of each by (sale, round, user_id).
	sqlOverLimit = `SELECT u.user_id, has.units FROM unnest($2::text[]) AS u(user_id), LATERAL (
			SELECT sum(quantity)::bigint AS units FROM claims
			WHERE sale = $1 AND round = 1 AND user_id = u.user_id AND state IN ('held', 'confirmed')
		) AS has WHERE has.units > $3 LIMIT 1`
)

// grant records new claims: fence and events, stock, claims, limit. The claims may
// have been inserted already.
func (t *tx) grant(b *rushgate.Batch, g *rushgate.Grant, inserted bool) error {
	if len(g.Claims) == 0 {
		return nil
	}
	if err := entry.CheckGrant(g); err != nil {
		return err
	}
	var list []entry.Units
	var told chapter
	for rest := g.Claims; len(rest) > 0; {
		run := entry.SameState(rest)
		for i := range run {
			c := &run[i]
			if c.State == rushgate.Confirmed {
				list = entry.Tally(list, c.Item, c.Quantity, c.Quantity)
			} else {
				list = entry.Tally(list, c.Item, c.Quantity, 0)
			}
		}
		ids := entry.ClaimIDs(run)
		told.add(int64(len(run)), rushgate.EventOf(run[0].State), &ids, nil)
		rest = rest[len(run):]
	}
	t.tell(b, g.Sale, &g.Epoch, &told)
	t.take(g.Sale, list)
	if !inserted {
		if err := t.insert(b, g); err != nil {
			return err
		}
	}
	t.checkLimit(g)
	return nil
}

// insert writes the rows of a grant's claims.
func (t *tx) insert(b *rushgate.Batch, g *rushgate.Grant) error {
	if len(g.Claims) == 0 {
		return nil
	}
	if err := entry.CheckGrant(g); err != nil {
		return err
	}
	c := columnsOf(g.Claims)
	done := func(_ int64, err error) error {
		if codeOf(err) == codeUnique {
			return uniqueBarrier(g.Sale, err)
		}
		return err
	}
	if len(entry.Alike(g.Claims)) == len(g.Claims) {
		a := &g.Claims[0]
		t.exec(done, sqlClaims, g.Sale, a.Item, a.Quantity, string(a.State),
			entry.Millis(a.CreatedAt), entry.OrNull(a.ExpiresAt), entry.OrNull(endOf(b, a)), c.id, c.user, c.slot, c.key)
		return nil
	}
	c.widen(b, g.Claims)
	t.exec(done, sqlWideClaims, g.Sale, c.id, c.user, c.slot, c.key, c.item, c.quantity, c.state, c.created, c.expires, c.ended)
	return nil
}

// endOf is when a claim reached its final state: a confirmed one with the batch
// at the latest.
func endOf(b *rushgate.Batch, c *rushgate.Claim) time.Time {
	if c.EndedAt.IsZero() && c.State == rushgate.Confirmed {
		return b.At
	}
	return c.EndedAt
}

// columns are claims as the server takes them: an array for each column.
type columns struct {
	id, quantity, created, expires, ended []int64
	slot                                  []int32
	user, key, item, state                []string
}

func columnsOf(claims []rushgate.Claim) *columns {
	n := len(claims)
	c := &columns{id: make([]int64, n), user: make([]string, n), slot: make([]int32, n), key: make([]string, n)}
	for i := range claims {
		c.id[i], c.user[i], c.slot[i], c.key[i] = int64(claims[i].ID), claims[i].User, claims[i].Slot, claims[i].Key
	}
	return c
}

// widen adds the columns that claims which are alike have in common.
func (c *columns) widen(b *rushgate.Batch, claims []rushgate.Claim) {
	for i := range claims {
		a := &claims[i]
		c.item, c.quantity, c.state = append(c.item, a.Item), append(c.quantity, a.Quantity), append(c.state, string(a.State))
		c.created = append(c.created, entry.Millis(a.CreatedAt))
		c.expires, c.ended = append(c.expires, orZero(a.ExpiresAt)), append(c.ended, orZero(endOf(b, a)))
	}
}

func orZero(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return entry.Millis(t)
}

// uniqueBarrier names the barrier by the constraint that the server names.
func uniqueBarrier(sale string, err error) error {
	name, detail := constraint(err)
	e := &rushgate.BarrierError{Barrier: rushgate.BarrierID, Sale: sale, Detail: "an id or a key was used before: " + detail}
	if name == "claims_slot" {
		e.Barrier, e.Detail = rushgate.BarrierSlot, "a user's slot is taken: "+detail
	}
	return e
}

// take takes units from the stock.
func (t *tx) take(sale string, list []entry.Units) {
	items, taken, confirmed := make([]string, len(list)), make([]int64, len(list)), make([]int64, len(list))
	for i, u := range list {
		items[i], taken[i], confirmed[i] = u.Item, u.Taken, u.Confirmed
	}
	t.query(func(rows pgx.Rows) error {
		var item string
		var units int64
		var there bool
		_, err := pgx.ForEachRow(rows, []any{&item, &units, &there}, func() error {
			if !there {
				return entry.NoItem(sale, item)
			}
			return &rushgate.BarrierError{Barrier: rushgate.BarrierStock, Sale: sale,
				Detail: fmt.Sprintf("%d units of %q are not there", units, item)}
		})
		return err
	}, sqlTake, sale, items, taken, confirmed)
}

// checkLimit counts what the users of the batch have now. Where the limit is one
// unit, the unique slot has said it all. It comes after the lock, so that it sees
// what other nodes have granted to the same users.
//
// This is the one statement of a batch that is planned each time: while the table
// is small, all its indexes look the same, and some lead through the whole sale.
func (t *tx) checkLimit(g *rushgate.Grant) {
	if g.PerUser <= 1 {
		return
	}
	users := make([]string, len(g.Claims))
	for i := range g.Claims {
		users[i] = g.Claims[i].User
	}
	t.exec(simply, `SET LOCAL plan_cache_mode = force_custom_plan`)
	t.query(func(rows pgx.Rows) error {
		var user string
		var has int64
		_, err := pgx.ForEachRow(rows, []any{&user, &has}, func() error {
			return &rushgate.BarrierError{Barrier: rushgate.BarrierLimit, Sale: g.Sale,
				Detail: fmt.Sprintf("user %q would have %d units, the limit is %d", user, has, g.PerUser)}
		})
		return err
	}, sqlOverLimit, g.Sale, users, g.PerUser)
}
