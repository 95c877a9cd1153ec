package entry

import (
	"encoding/json"
	"slices"

	"rushgate"
)

// Chronicle holds each claim of a sale, by id, against what its events tell.
type Chronicle struct {
	ids   []int64
	state []byte // the state that the claim's row has: an index of states
	told  []byte // what the events have told: bits
	// at is where the last claim was found: events tell claims nearly in the
	// order of their ids.
	at int

	last int64 // the number of the last event that was taken
}

const (
	toldHeld  byte = 1 << iota
	toldEnded      // by the event that fits the row's state
	toldWrong      // twice, in the wrong order, or not of this row
	atOnce         // the row has no expiry: its arrival is its end
)

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

// Add takes a claim's row, with an id above all before. once says that it has no
// expiry: its arrival is its end.
func (c *Chronicle) Add(id int64, state rushgate.State, once bool) {
	told := byte(0)
	if once {
		told = atOnce
	}
	c.ids, c.state, c.told = append(c.ids, id), append(c.state, number(state)), append(c.told, told)
}

// Row takes a row of the events table, in the order of seq: n events of a kind,
// with the JSON array of the claims that they tell of, or "" for none. What does
// not fit is counted in t.
func (c *Chronicle) Row(t *rushgate.Tally, seq, n int64, kind rushgate.EventKind, claims string) {
	t.Events[kind] += n
	t.SeqGaps += distance(seq, c.last+1)
	c.last = seq + n - 1
	if claims == "" {
		return
	}
	var ids []int64
	if json.Unmarshal([]byte(claims), &ids) != nil || int64(len(ids)) != n {
		t.SeqGaps += max(1, distance(int64(len(ids)), n)) // numbers that tell of nothing
	}
	for _, id := range ids {
		if !c.tell(id, rushgate.StateOf(kind)) {
			t.BadHistory++ // of a claim that is not there
		}
	}
}

// End counts in t what is missing when all rows were taken.
func (c *Chronicle) End(t *rushgate.Tally) {
	t.SeqGaps += distance(t.LastSeq, c.last)
	t.BadHistory += c.bad()
}

func distance(a, b int64) int64 { return max(a-b, b-a) }

// tell notes one event of a claim; false when there is no such claim.
func (c *Chronicle) tell(id int64, s rushgate.State) bool {
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
func (c *Chronicle) bad() int64 {
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
