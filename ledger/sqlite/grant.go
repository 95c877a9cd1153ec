package sqlite

import (
	"context"
	"errors"
	"fmt"
	"strings"

	lib "modernc.org/sqlite/lib"

	"rushgate"
	"rushgate/ledger/entry"
)

// grant records new claims: fence, stock, claims, limit, events.
func (w *writer) grant(ctx context.Context, b *rushgate.Batch, g *rushgate.Grant) error {
	if len(g.Claims) == 0 {
		return nil
	}
	if err := entry.CheckGrant(g); err != nil {
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
		run := entry.Alike(rest)
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
			return 0, entry.NoSale(g.Sale)
		}
		return 0, err
	}
	return 0, entry.OtherEpoch(g.Sale, g.Epoch, epoch)
}

func (w *writer) takeStock(ctx context.Context, g *rushgate.Grant) error {
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
		r, err := w.take.ExecContext(ctx, u.Taken, u.Confirmed, g.Sale, u.Item)
		if err != nil {
			return err
		}
		if n, err := r.RowsAffected(); err != nil || n == 1 {
			if err != nil {
				return err
			}
			continue
		}
		return w.noStock(ctx, g.Sale, u.Item, fmt.Sprintf("%d units of %q are not there", u.Taken, u.Item))
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
		return entry.NoItem(sale, item)
	}
	return &rushgate.BarrierError{Barrier: rushgate.BarrierStock, Sale: sale, Detail: detail}
}

// insert writes the rows of claims that are alike.
func (w *writer) insert(ctx context.Context, b *rushgate.Batch, g *rushgate.Grant, run []rushgate.Claim) error {
	c := &run[0]
	ended := entry.OrNull(c.EndedAt)
	if ended == nil && c.State == rushgate.Confirmed {
		ended = entry.Millis(b.At)
	}
	stmt, rows := w.claims, narrowRows(run)
	if !narrow(run) {
		stmt, rows = w.wideClaims, wideRows(run)
	}
	_, err := stmt.ExecContext(ctx, rows, g.Sale, c.Item, c.Quantity, string(c.State),
		entry.Millis(c.CreatedAt), entry.OrNull(c.ExpiresAt), ended, slotOrNull(c.Slot))
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
