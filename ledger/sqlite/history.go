package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"slices"

	"rushgate"
)

// chronicle holds each claim of a sale, by id, against what its events tell.
type chronicle struct {
	ids   []int64
	state []byte // the state that the claim's row has: an index of states
	told  []byte // what the events have told: bits
	// at is where the last claim was found: events tell claims nearly in the
	// order of their ids.
	at int
}

const (
	toldHeld  byte = 1 << iota
	toldEnded      // by the event that fits the row's state
	toldWrong      // twice, in the wrong order, or not of this row
	atOnce         // the row has no expiry: its arrival is its end
)

// tallyHistory counts the events, and finds what in them does not fit the claims.
func tallyHistory(ctx context.Context, r reader, t *rushgate.Tally) error {
	c, err := chronicleOf(ctx, r, t.Sale.ID)
	if err != nil {
		return err
	}
	rows, err := r.QueryContext(ctx, `SELECT seq, n, kind, claims FROM events WHERE sale = ? ORDER BY seq`, t.Sale.ID)
	if err != nil {
		return err
	}
	defer rows.Close()
	next := int64(1)
	for rows.Next() {
		var seq, n int64
		var kind rushgate.EventKind
		var claims sql.NullString
		if err := rows.Scan(&seq, &n, &kind, &claims); err != nil {
			return err
		}
		t.Events[kind] += n
		t.SeqGaps += distance(seq, next)
		next = seq + n
		if !claims.Valid {
			continue
		}
		var ids []int64
		if json.Unmarshal([]byte(claims.String), &ids) != nil || int64(len(ids)) != n {
			t.SeqGaps += max(1, distance(int64(len(ids)), n)) // numbers that tell of nothing
		}
		for _, id := range ids {
			if !c.tell(id, rushgate.StateOf(kind)) {
				t.BadHistory++ // of a claim that is not there
			}
		}
	}
	t.SeqGaps += distance(t.LastSeq+1, next)
	t.BadHistory += c.bad()
	return rows.Err()
}

func distance(a, b int64) int64 { return max(a-b, b-a) }

func chronicleOf(ctx context.Context, r reader, sale string) (*chronicle, error) {
	rows, err := r.QueryContext(ctx, `SELECT id, state, expires_at IS NULL FROM claims WHERE sale = ? ORDER BY id`, sale)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	c := &chronicle{}
	for rows.Next() {
		var id int64
		var state sql.RawBytes
		var once bool
		if err := rows.Scan(&id, &state, &once); err != nil {
			return nil, err
		}
		told := byte(0)
		if once {
			told = atOnce
		}
		c.ids, c.state, c.told = append(c.ids, id), append(c.state, number(rushgate.State(state))), append(c.told, told)
	}
	return c, rows.Err()
}

// number gives a state a small number; 0 is one that is not known.
func number(s rushgate.State) byte {
	switch s {
	case rushgate.Held:
		return 1
	case rushgate.Confirmed:
		return 2
	case rushgate.Released:
		return 3
	case rushgate.ExpiredState:
		return 4
	case rushgate.Revoked:
		return 5
	}
	return 0
}

// tell notes one event of a claim; false when there is no such claim.
func (c *chronicle) tell(id int64, s rushgate.State) bool {
	if c.at++; c.at >= len(c.ids) || c.ids[c.at] != id {
		i, ok := slices.BinarySearch(c.ids, id)
		if !ok {
			return false
		}
		c.at = i
	}
	told := &c.told[c.at]
	arrived := *told&(toldHeld|atOnce) != 0 || s == rushgate.Revoked
	switch {
	case s == rushgate.Held && !arrived && *told&toldEnded == 0:
		*told |= toldHeld
	case s != rushgate.Held && arrived && *told&toldEnded == 0 && number(s) == c.state[c.at]:
		*told |= toldEnded
	default:
		*told |= toldWrong
	}
	return true
}

// bad counts the claims whose history does not lead to their state.
func (c *chronicle) bad() int64 {
	var n int64
	for i, told := range c.told {
		whole := false
		switch held := c.state[i] == number(rushgate.Held); {
		case told&toldWrong != 0 || c.state[i] == 0:
		case c.state[i] == number(rushgate.Revoked):
			whole = told&toldEnded != 0 && told&toldHeld == 0
		case told&atOnce != 0:
			whole = told&toldEnded != 0 && c.state[i] == number(rushgate.Confirmed)
		case held:
			whole = told&toldHeld != 0 && told&toldEnded == 0
		default:
			whole = told&toldHeld != 0 && told&toldEnded != 0
		}
		if !whole {
			n++
		}
	}
	return n
}
