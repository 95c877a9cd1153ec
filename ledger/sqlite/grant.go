package sqlite

import (
	"context"
	"errors"
	"fmt"
	"strings"

	lib "modernc.org/sqlite/lib"

	"rushgate"
)

// grant records new claims: fence, stock, claims, limit, events.
func (w *writer) grant(ctx context.Context, b *rushgate.Batch, g *rushgate.Grant) error {
	if len(g.Claims) == 0 {
		return nil
	}
	if err := checkGrant(g); err != nil {
		return err
	}
	last, err := w.fencedSeq(ctx, g)
	if err != nil {
		return err
	}
	if err := w.takeStock(ctx, g); err != nil {
		return err
	}
	seq := last - int64(len(g.Claims))
	for rest := g.Claims; len(rest) > 0; {
		run := alike(rest)
		rest = rest[len(run):]
		if err := w.insert(ctx, b, g, run); err != nil {
			return err
		}
		n := int64(len(run))
		seq += n
		if err := w.tell(ctx, b, g.Sale, seq, n, rushgate.EventOf(run[0].State), idList(run, idOf), nil); err != nil {
			return err
		}
	}
	return w.checkLimit(ctx, g)
}

// checkGrant refuses what no gate may ask for, before the database sees it.
func checkGrant(g *rushgate.Grant) error {
	for i := range g.Claims {
		c := &g.Claims[i]
		switch {
		case c.Sale != g.Sale:
			return fmt.Errorf("claim %d is of sale %q, its grant of %q", c.ID, c.Sale, g.Sale)
		case !c.State.Active():
			return fmt.Errorf("claim %d arrives as %q: only held and confirmed claims can be granted", c.ID, c.State)
		case c.State == rushgate.Held && c.ExpiresAt.IsZero():
			return fmt.Errorf("claim %d is held without an end", c.ID)
		case c.ID <= 0 || c.Quantity <= 0:
			return fmt.Errorf("claim %d of %d units: both must be positive", c.ID, c.Quantity)
		case g.PerUser == 0 && c.Slot != rushgate.NoSlot:
			return fmt.Errorf("claim %d has slot %d in a sale without a limit", c.ID, c.Slot)
		case g.PerUser > 0 && (c.Slot < 0 || int64(c.Slot) >= g.PerUser || c.Quantity > g.PerUser):
			return &rushgate.BarrierError{Barrier: rushgate.BarrierLimit, Sale: g.Sale,
				Detail: fmt.Sprintf("claim %d of %d units in slot %d, the limit is %d", c.ID, c.Quantity, c.Slot, g.PerUser)}
		}
	}
	return nil
}

// fencedSeq takes the numbers of the grant's events, and in the same statement
// finds out whether its epoch still holds.
func (w *writer) fencedSeq(ctx context.Context, g *rushgate.Grant) (int64, error) {
	var last int64
	err := w.seqFenced.QueryRowContext(ctx, len(g.Claims), g.Sale, g.Epoch).Scan(&last)
	if !errors.Is(err, errNoRows) {
		return last, err
	}
	var epoch int64
	if err := w.epochOf.QueryRowContext(ctx, g.Sale).Scan(&epoch); err != nil {
		if errors.Is(err, errNoRows) {
			return 0, noSale(g.Sale)
		}
		return 0, err
	}
	return 0, otherEpoch(g.Sale, g.Epoch, epoch)
}

func otherEpoch(sale string, had, has int64) error {
	return &rushgate.BarrierError{Barrier: rushgate.BarrierEpoch, Sale: sale,
		Detail: fmt.Sprintf("the change has epoch %d, the sale %d", had, has)}
}

// units is what a step does to the stock row of one item.
type units struct {
	item             string
	taken, confirmed int64
}

// tally adds up the units of a batch by item, so that the lines of one batch
// take from each other. Sales have few items: a list is faster than a map.
func tally(list []units, item string, taken, confirmed int64) []units {
	for i := range list {
		if list[i].item == item {
			list[i].taken += taken
			list[i].confirmed += confirmed
			return list
		}
	}
	return append(list, units{item, taken, confirmed})
}

func (w *writer) takeStock(ctx context.Context, g *rushgate.Grant) error {
	var list []units
	for i := range g.Claims {
		c := &g.Claims[i]
		confirmed := int64(0)
		if c.State == rushgate.Confirmed {
			confirmed = c.Quantity
		}
		list = tally(list, c.Item, c.Quantity, confirmed)
	}
	for _, u := range list {
		r, err := w.take.ExecContext(ctx, u.taken, u.confirmed, g.Sale, u.item)
		if err != nil {
			return err
		}
		if n, err := r.RowsAffected(); err != nil || n == 1 {
			if err != nil {
				return err
			}
			continue
		}
		return w.noStock(ctx, g.Sale, u.item, fmt.Sprintf("%d units of %q are not there", u.taken, u.item))
	}
	return nil
}

// noStock tells an item without enough units from one that is not there.
func (w *writer) noStock(ctx context.Context, sale, item, detail string) error {
	var n int
	if err := w.conn.QueryRowContext(ctx,
		`SELECT count(*) FROM items WHERE sale = ? AND round = 1 AND item = ?`, sale, item).Scan(&n); err != nil {
		return err
	}
	if n == 0 {
		return noItem(sale, item)
	}
	return &rushgate.BarrierError{Barrier: rushgate.BarrierStock, Sale: sale, Detail: detail}
}

// alike returns the longest run at the start of claims that one statement can
// insert: all that most batches hold.
func alike(claims []rushgate.Claim) []rushgate.Claim {
	a := &claims[0]
	for i := 1; i < len(claims); i++ {
		c := &claims[i]
		if c.Item != a.Item || c.Quantity != a.Quantity || c.State != a.State ||
			!c.CreatedAt.Equal(a.CreatedAt) || !c.ExpiresAt.Equal(a.ExpiresAt) || !c.EndedAt.Equal(a.EndedAt) {
			return claims[:i]
		}
	}
	return claims
}

// insert writes the rows of claims that are alike.
func (w *writer) insert(ctx context.Context, b *rushgate.Batch, g *rushgate.Grant, run []rushgate.Claim) error {
	c := &run[0]
	ended := orNull(c.EndedAt)
	if ended == nil && c.State == rushgate.Confirmed {
		ended = millis(b.At)
	}
	stmt, rows := w.claims, narrowRows(run)
	if !narrow(run) {
		stmt, rows = w.wideClaims, wideRows(run)
	}
	_, err := stmt.ExecContext(ctx, rows, g.Sale, c.Item, c.Quantity, string(c.State),
		millis(c.CreatedAt), orNull(c.ExpiresAt), ended, slotOrNull(c.Slot))
	if isUnique(err) {
		return uniqueBarrier(g.Sale, err)
	}
	return err
}

func isUnique(err error) bool {
	switch resultCode(err) {
	case lib.SQLITE_CONSTRAINT_UNIQUE, lib.SQLITE_CONSTRAINT_PRIMARYKEY, lib.SQLITE_CONSTRAINT_ROWID:
		return true
	}
	return false
}

// uniqueBarrier names the barrier by the columns that SQLite names.
func uniqueBarrier(sale string, err error) error {
	e := &rushgate.BarrierError{Barrier: rushgate.BarrierID, Sale: sale, Detail: "an id or a key was used before: " + err.Error()}
	if strings.Contains(err.Error(), "claims.slot") {
		e.Barrier, e.Detail = rushgate.BarrierSlot, "a user's slot is taken: "+err.Error()
	}
	return e
}

// checkLimit counts what the users of the batch have now. Where the limit is
// one unit, the unique slot has said it all.
func (w *writer) checkLimit(ctx context.Context, g *rushgate.Grant) error {
	if g.PerUser <= 1 {
		return nil
	}
	var user string
	var has int64
	err := w.overLimit.QueryRowContext(ctx, g.Sale, userList(g.Claims), g.PerUser).Scan(&user, &has)
	if errors.Is(err, errNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	return &rushgate.BarrierError{Barrier: rushgate.BarrierLimit, Sale: g.Sale,
		Detail: fmt.Sprintf("user %q would have %d units, the limit is %d", user, has, g.PerUser)}
}
