package mysql

import (
	"fmt"
	"slices"

	"rushgate"
	"rushgate/ledger/entry"
)

// The claims are found by their ids alone, so that the cost of a move does not
// depend on how many are held.
const (
	sqlMovable = `SELECT ` + claimColumns + ` FROM claims FORCE INDEX (PRIMARY)
		WHERE sale = ? AND state = 'held' AND expires_at %s ? AND id IN (%s) ORDER BY id FOR UPDATE`
	sqlMove = `UPDATE claims FORCE INDEX (PRIMARY) SET state = ?, ended_at = ?, slot = CASE ? WHEN 'confirmed' THEN slot END
		WHERE id IN (%s)`
)

// move takes held claims to their final state.
func (t *tx) move(b *rushgate.Batch, m *rushgate.Move) error {
	m.Moved = m.Moved[:0]
	expiry := ">"
	switch m.To {
	case rushgate.Confirmed, rushgate.Released:
	case rushgate.ExpiredState:
		expiry = "<="
	default:
		return fmt.Errorf("claims cannot be moved to %q", m.To)
	}
	for part := range slices.Chunk(m.IDs, maxList) {
		args := append([]any{m.Sale, entry.Millis(b.At)}, anys(part)...)
		rows, err := t.QueryContext(t.ctx, fmt.Sprintf(sqlMovable, expiry, marks(len(part))), args...)
		if err != nil {
			return err
		}
		first := len(m.Moved)
		if m.Moved, err = scanClaims(rows, m.Moved); err != nil {
			return err
		}
		if err := t.end(b, m, m.Moved[first:]); err != nil {
			return err
		}
	}
	if len(m.Moved) == 0 {
		return nil
	}
	if err := t.giveStock(m); err != nil {
		return err
	}
	if err := t.nextSeq(m.Sale, len(m.Moved)); err != nil {
		return err
	}
	return t.tell(b, m.Sale, len(m.Moved), 0, rushgate.EventOf(m.To), entry.ClaimIDs(m.Moved), nil)
}

// end writes the end of claims, which are held and locked, and brings them up
// to date. A list of ids may name a claim twice: after its end it is not found
// again.
func (t *tx) end(b *rushgate.Batch, m *rushgate.Move, moved []rushgate.Claim) error {
	if len(moved) == 0 {
		return nil
	}
	args := []any{string(m.To), entry.Millis(b.At), string(m.To)}
	for i := range moved {
		c := &moved[i]
		c.State, c.EndedAt = m.To, entry.Whole(b.At)
		if m.To != rushgate.Confirmed {
			c.Slot = rushgate.NoSlot
		}
		args = append(args, int64(c.ID))
	}
	all := func(rows int64, refused error) error {
		if refused == nil && rows != int64(len(moved)) {
			return fmt.Errorf("%d of %d claims moved: they were held under a lock", rows, len(moved))
		}
		return refused
	}
	return t.add(all, fmt.Sprintf(sqlMove, marks(len(moved))), args...)
}

// giveStock counts confirmed units as confirmed, and gives the others back.
func (t *tx) giveStock(m *rushgate.Move) error {
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
		err := t.add(func(_ int64, refused error) error {
			if n := number(refused); n == erCheckMariaDB || n == erCheckMySQL {
				return &rushgate.BarrierError{Barrier: rushgate.BarrierStock, Sale: m.Sale,
					Detail: fmt.Sprintf("the stock of %q does not have what its claims give back or confirm: %v", u.Item, refused)}
			}
			return refused
		}, `UPDATE items SET taken = taken + ?, confirmed = confirmed + ? WHERE sale = ? AND round = 1 AND item = ?`,
			u.Taken, u.Confirmed, m.Sale, u.Item)
		if err != nil {
			return err
		}
	}
	return nil
}
