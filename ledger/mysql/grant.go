package mysql

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"rushgate"
	"rushgate/ledger/entry"
)

// grant records new claims: fence, stock, claims, limit, events.
func (t *tx) grant(b *rushgate.Batch, g *rushgate.Grant) error {
	if len(g.Claims) == 0 {
		return nil
	}
	if err := entry.CheckGrant(g); err != nil {
		return err
	}
	if err := t.fencedSeq(g); err != nil {
		return err
	}
	if err := t.takeStock(g); err != nil {
		return err
	}
	for rest := g.Claims; len(rest) > 0; {
		run := entry.Alike(rest)
		rest = rest[len(run):]
		if err := t.insert(b, g.Sale, run); err != nil {
			return err
		}
		if err := t.tell(b, g.Sale, len(run), len(rest), rushgate.EventOf(run[0].State), entry.ClaimIDs(run), nil); err != nil {
			return err
		}
	}
	return t.checkLimit(g)
}

// fencedSeq takes the numbers of the grant's events, and in the same statement
// finds out whether its epoch still holds.
func (t *tx) fencedSeq(g *rushgate.Grant) error {
	return t.add(found(func() error {
		var epoch int64
		err := t.QueryRowContext(t.ctx, `SELECT epoch FROM sales WHERE id = ?`, g.Sale).Scan(&epoch)
		switch {
		case errors.Is(err, errNoRows):
			return entry.NoSale(g.Sale)
		case err != nil:
			return err
		}
		return entry.OtherEpoch(g.Sale, g.Epoch, epoch)
	}), `UPDATE sales SET last_seq = LAST_INSERT_ID(last_seq + ?) WHERE id = ? AND epoch = ?`, len(g.Claims), g.Sale, g.Epoch)
}

func (t *tx) takeStock(g *rushgate.Grant) error {
	var list []entry.Units
	for i := range g.Claims {
		c := &g.Claims[i]
		confirmed := int64(0)
		if c.State == rushgate.Confirmed {
			confirmed = c.Quantity
		}
		list = entry.Tally(list, c.Item, c.Quantity, confirmed)
	}
	for _, u := range list {
		err := t.add(found(func() error {
			return t.noStock(g.Sale, u.Item, fmt.Sprintf("%d units of %q are not there", u.Taken, u.Item))
		}), `UPDATE items SET taken = taken + ?, confirmed = confirmed + ?
			WHERE sale = ? AND round = 1 AND item = ? AND taken + ? <= total`, u.Taken, u.Confirmed, g.Sale, u.Item, u.Taken)
		if err != nil {
			return err
		}
	}
	return nil
}

// noStock tells an item without enough units from one that is not there.
func (t *tx) noStock(sale, item, detail string) error {
	var n int
	if err := t.QueryRowContext(t.ctx,
		`SELECT COUNT(*) FROM items WHERE sale = ? AND round = 1 AND item = ?`, sale, item).Scan(&n); err != nil {
		return err
	}
	if n == 0 {
		return entry.NoItem(sale, item)
	}
	return &rushgate.BarrierError{Barrier: rushgate.BarrierStock, Sale: sale, Detail: detail}
}

// insert writes the rows of claims that are alike.
func (t *tx) insert(b *rushgate.Batch, sale string, run []rushgate.Claim) error {
	c := &run[0]
	ended := entry.OrNull(c.EndedAt)
	if ended == nil && c.State == rushgate.Confirmed {
		ended = entry.Millis(b.At)
	}
	judge := func(_ int64, refused error) error {
		if number(refused) == erDuplicate {
			return uniqueBarrier(sale, refused)
		}
		return refused
	}
	for part := range slices.Chunk(run, maxRows) {
		text, rows := sqlClaims, narrowRows(part)
		if !narrow(part) {
			text, rows = sqlWideClaims, wideRows(part)
		}
		err := t.add(judge, text, sale, c.Item, slotOrNull(c.Slot), c.Quantity, string(c.State),
			entry.Millis(c.CreatedAt), entry.OrNull(c.ExpiresAt), ended, rows)
		if err != nil {
			return err
		}
	}
	return nil
}

// uniqueBarrier names the barrier by the key that the server names: as
// 'claims_slot', or as 'claims.claims_slot'.
func uniqueBarrier(sale string, err error) error {
	e := &rushgate.BarrierError{Barrier: rushgate.BarrierID, Sale: sale, Detail: "an id or a key was used before: " + err.Error()}
	if strings.HasSuffix(err.Error(), "claims_slot'") {
		e.Barrier, e.Detail = rushgate.BarrierSlot, "a user's slot is taken: "+err.Error()
	}
	return e
}

// checkLimit counts what the users of the batch have now. Where the limit is
// one unit, the unique slot has said it all.
func (t *tx) checkLimit(g *rushgate.Grant) error {
	if g.PerUser <= 1 {
		return nil
	}
	if err := t.flush(); err != nil {
		return err
	}
	for part := range slices.Chunk(g.Claims, maxList) {
		args := []any{g.Sale}
		for i := range part {
			args = append(args, part[i].User)
		}
		var user string
		var has int64
		err := t.QueryRowContext(t.ctx, `SELECT user_id, SUM(quantity) FROM claims FORCE INDEX (claims_slot)
			WHERE sale = ? AND round = 1 AND state IN ('held', 'confirmed') AND user_id IN (`+marks(len(part))+`)
			GROUP BY user_id HAVING SUM(quantity) > ? LIMIT 1`, append(args, g.PerUser)...).Scan(&user, &has)
		switch {
		case err == nil:
			return &rushgate.BarrierError{Barrier: rushgate.BarrierLimit, Sale: g.Sale,
				Detail: fmt.Sprintf("user %q would have %d units, the limit is %d", user, has, g.PerUser)}
		case !errors.Is(err, errNoRows):
			return err
		}
	}
	return nil
}
