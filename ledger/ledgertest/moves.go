package ledgertest

import (
	"testing"
	"time"

	"rushgate"
)

var moves = []test{
	{"EachEnd", func(t *testing.T, f Factory) {
		d := open(t, f)
		s := d.sell(1, item("a", 10))
		for _, end := range []struct {
			to   rushgate.State
			at   time.Time
			slot int32
		}{
			{rushgate.Confirmed, later(5), 0},
			{rushgate.Released, later(6), rushgate.NoSlot},
			{rushgate.ExpiredState, start.Add(s.Hold), rushgate.NoSlot},
		} {
			c := withKey(d.claim(s, "a", string(end.to)), "key-"+string(end.to))
			d.record(start, grant(s, c))
			m := move(end.to, c)
			d.record(end.at, m)
			c.State, c.Slot, c.EndedAt = end.to, end.slot, end.at
			same(t, "moved", m.Moved, []rushgate.Claim{c})
			same(t, "read", d.read(c.ID), c)
		}
		d.stock(s.ID, rushgate.Stock{Item: "a", Total: 10, Taken: 1, Confirmed: 1})
		d.sound(s.ID)
	}},
	{"TheFirstEndIsTheOnlyOne", func(t *testing.T, f Factory) {
		d := open(t, f)
		s := d.sell(1, item("a", 10))
		ends := []rushgate.State{rushgate.Confirmed, rushgate.Released, rushgate.ExpiredState}
		for _, first := range ends {
			c := d.claim(s, "a", "u-"+string(first))
			d.record(start, grant(s, c))
			at := later(1)
			if first == rushgate.ExpiredState {
				at = start.Add(s.Hold)
			}
			d.record(at, move(first, c))
			before := d.everything()
			for _, second := range ends {
				for _, at := range []time.Time{later(2), start.Add(2 * s.Hold)} {
					m := move(second, c)
					d.record(at, m)
					if len(m.Moved) != 0 {
						t.Fatalf("%s after %s moved %v", second, first, m.Moved)
					}
				}
			}
			same(t, "after moves of an ended claim", d.everything(), before)
		}
	}},
	{"TheEdgeOfTime", func(t *testing.T, f Factory) {
		d := open(t, f)
		s := d.sell(0, item("a", 100))
		for _, c := range []struct {
			to    rushgate.State
			after time.Duration // the expiry
			moves bool
		}{
			{rushgate.Confirmed, -time.Millisecond, true}, {rushgate.Confirmed, 0, false}, {rushgate.Confirmed, time.Millisecond, false},
			{rushgate.Released, -time.Millisecond, true}, {rushgate.Released, 0, false}, {rushgate.Released, time.Hour, false},
			{rushgate.ExpiredState, -time.Millisecond, false}, {rushgate.ExpiredState, 0, true}, {rushgate.ExpiredState, time.Hour, true},
		} {
			held := d.claim(s, "a", "ann")
			d.record(start, grant(s, held))
			m := move(c.to, held)
			d.record(held.ExpiresAt.Add(c.after), m)
			if got := len(m.Moved) == 1; got != c.moves {
				t.Fatalf("%s %v after the expiry: moved is %v", c.to, c.after, got)
			}
		}
		d.sound(s.ID)
	}},
	{"OnlyHeldClaimsOfTheSale", func(t *testing.T, f Factory) {
		d := open(t, f)
		s, other := d.sell(1, item("a", 10)), d.sell(1, item("a", 10))
		mine, theirs, once := d.claim(s, "a", "ann"), d.claim(other, "a", "ann"), d.atOnce(s, "a", "bob")
		d.record(start, grant(s, mine, once), grant(other, theirs))
		m := move(rushgate.Released, mine, theirs, once, mine)
		m.IDs = append(m.IDs, 424242)
		d.record(later(1), m)
		if len(m.Moved) != 1 || m.Moved[0].ID != mine.ID {
			t.Fatalf("moved %v", m.Moved)
		}
		same(t, "the other sale's claim", d.read(theirs.ID), theirs)
		same(t, "the confirmed claim", d.read(once.ID), once)
		m = &rushgate.Move{Sale: s.ID, To: rushgate.Released, Moved: m.Moved}
		d.record(later(2), m)
		if len(m.Moved) != 0 {
			t.Fatalf("a move of nothing moved %v", m.Moved)
		}
		d.sound(s.ID)
		d.sound(other.ID)
	}},
	{"OnlyToAFinalState", func(t *testing.T, f Factory) {
		d := open(t, f)
		s := d.sell(1, item("a", 10))
		c := d.claim(s, "a", "ann")
		d.record(start, grant(s, c))
		for _, to := range []rushgate.State{rushgate.Held, "", "gone"} {
			if err := d.Record(t.Context(), d.batch(later(1), move(to, c))); err == nil {
				t.Fatalf("moved to %q", to)
			}
		}
		same(t, "claim", d.read(c.ID), c)
	}},
	{"ManyItemsAndQuantities", func(t *testing.T, f Factory) {
		d := open(t, f)
		s := d.sell(0, item("a", 10), item("b", 10))
		a, b := ofUnits(d.claim(s, "a", "ann"), 3), ofUnits(d.claim(s, "b", "bob"), 4)
		c := ofUnits(d.claim(s, "a", "cy"), 2)
		d.record(start, grant(s, a, b, c))
		d.record(later(1), move(rushgate.Confirmed, a, b))
		d.stock(s.ID, rushgate.Stock{Item: "a", Total: 10, Taken: 5, Confirmed: 3}, rushgate.Stock{Item: "b", Total: 10, Taken: 4, Confirmed: 4})
		d.record(later(2), move(rushgate.Released, c))
		d.stock(s.ID, rushgate.Stock{Item: "a", Total: 10, Taken: 3, Confirmed: 3}, rushgate.Stock{Item: "b", Total: 10, Taken: 4, Confirmed: 4})
		d.sound(s.ID)
	}},
}
