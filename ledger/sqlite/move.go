package sqlite

import (
	"context"
	"fmt"

	lib "modernc.org/sqlite/lib"

	"rushgate"
	"rushgate/ledger/entry"
)

// The claims are found by their ids alone (NOT INDEXED leaves the primary
// key), so that the cost of a move does not depend on how many are held. OR FAIL
// spares SQLite the journal with which it would undo half a statement: a
// statement that fails takes the whole transaction with it here.
const (
	sqlMove = `UPDATE OR FAIL claims NOT INDEXED SET state = ?2, ended_at = ?3, slot = CASE ?2 WHEN 'confirmed' THEN slot END
		WHERE id IN (SELECT value FROM json_each(?1)) AND sale = ?4 AND state = 'held' AND expires_at `
	sqlMoved    = ` ?3 RETURNING ` + claimColumns
	sqlMoveLive = sqlMove + `>` + sqlMoved
	sqlMoveDue  = sqlMove + `<=` + sqlMoved
)

// move takes held claims to their final state.
func (w *writer) move(ctx context.Context, b *rushgate.Batch, m *rushgate.Move) error {
	m.Moved = m.Moved[:0]
	stmt := w.moveLive
	switch m.To {
	case rushgate.Confirmed, rushgate.Released:
	case rushgate.ExpiredState:
		stmt = w.moveDue
	default:
		return fmt.Errorf("claims cannot be moved to %q", m.To)
	}
	if len(m.IDs) == 0 {
		return nil
	}
	rows, err := stmt.QueryContext(ctx, idList(m.IDs, itself), string(m.To), entry.Millis(b.At), m.Sale)
	if err != nil {
		return err
	}
	if m.Moved, err = scanClaims(rows, m.Moved); err != nil || len(m.Moved) == 0 {
		return err
	}
	if err := w.giveStock(ctx, m); err != nil {
		return err
	}
	n := int64(len(m.Moved))
	last, err := w.nextSeq(ctx, m.Sale, n)
	if err != nil {
		return err
	}
	return w.tell(ctx, b, m.Sale, last, n, rushgate.EventOf(m.To), idList(m.Moved, idOf), nil)
}

// giveStock counts confirmed units as confirmed, and gives the others back.
func (w *writer) giveStock(ctx context.Context, m *rushgate.Move) error {
	var list []entry.Units
	for i := range m.Moved {
		c := &m.Moved[i]
		if m.To == rushgate.Confirmed {
			list = entry.Tally(list, c.Item, 0, c.Quantity)
		} else {
			list = entry.Tally(list, c.Item, -c.Quantity, 0)
		}
	}
	for _, u := range list {
		if _, err := w.give.ExecContext(ctx, u.Taken, u.Confirmed, m.Sale, u.Item); err != nil {
			if resultCode(err) == lib.SQLITE_CONSTRAINT_CHECK {
				return &rushgate.BarrierError{Barrier: rushgate.BarrierStock, Sale: m.Sale,
					Detail: fmt.Sprintf("the stock of %q does not have what its claims give back or confirm: %v", u.Item, err)}
			}
			return err
		}
	}
	return nil
}
