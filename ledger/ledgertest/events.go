package ledgertest

import (
	"math"
	"testing"
	"time"

	"rushgate"
)

var events = []test{
	{"EachChangeHasOneEventInOrder", func(t *testing.T, f Factory) {
		d := open(t, f)
		s := sale("told", 2, item("a", 10))
		d.record(later(0), &rushgate.Put{Sale: s, Kind: rushgate.SaleCreated})
		a, b, c := withKey(d.claim(s, "a", "ann"), "k"), d.atOnce(s, "a", "bob"), d.claim(s, "a", "cy")
		c.CreatedAt, c.ExpiresAt = later(1), later(2)
		d.record(later(1), grant(s, a, b, c))
		frozen := *s
		frozen.Name, frozen.Frozen, frozen.OpensAt = "Frozen", true, later(-9)
		d.record(later(2), move(rushgate.Released, a), &rushgate.Put{Sale: &frozen, Kind: rushgate.SaleWasFrozen},
			&rushgate.Restock{Sale: s.ID, Item: "a", Add: -3}, move(rushgate.ExpiredState, c))
		as := func(c rushgate.Claim, state rushgate.State, ended time.Time) *rushgate.Claim {
			c.Slot, c.State, c.EndedAt = rushgate.NoSlot, state, ended
			return &c
		}
		row := func(s rushgate.Sale) *rushgate.Sale {
			s.Items = []rushgate.Item{{ID: "a", Name: "Item a"}}
			return &s
		}
		want := []rushgate.Event{
			{Kind: rushgate.SaleCreated, At: later(0), State: row(*s)},
			{Kind: rushgate.ClaimHeld, At: later(1), Claim: as(a, rushgate.Held, time.Time{})},
			{Kind: rushgate.ClaimConfirmed, At: later(1), Claim: as(b, rushgate.Confirmed, b.EndedAt)},
			{Kind: rushgate.ClaimHeld, At: later(1), Claim: as(c, rushgate.Held, time.Time{})},
			{Kind: rushgate.ClaimReleased, At: later(2), Claim: as(a, rushgate.Released, later(2))},
			{Kind: rushgate.SaleWasFrozen, At: later(2), State: row(frozen)},
			{Kind: rushgate.ItemRestocked, At: later(2), Item: "a", Add: -3},
			{Kind: rushgate.ClaimExpired, At: later(2), Claim: as(c, rushgate.ExpiredState, later(2))},
		}
		for i := range want {
			want[i].Sale, want[i].Seq = s.ID, int64(i+1)
		}
		for range 2 {
			same(t, "events", must[[]rushgate.Event](t)(d.Events(t.Context(), s.ID, 0, 100)), want)
			d.reopen()
		}
	}},
	{"ResumeAnywhere", func(t *testing.T, f Factory) {
		d := open(t, f)
		s, other := d.sell(0, item("a", 100)), d.sell(0, item("a", 100))
		for i := range 3 {
			var claims []rushgate.Claim
			for range i + 1 {
				claims = append(claims, d.claim(s, "a", "ann"))
			}
			d.record(later(1), grant(s, claims...), grant(other, d.claim(other, "a", "ann")))
			d.record(later(2), move(rushgate.Confirmed, claims...))
		}
		all := must[[]rushgate.Event](t)(d.Events(t.Context(), s.ID, 0, plenty))
		if len(all) != 13 {
			t.Fatalf("%d events", len(all))
		}
		for after := range len(all) + 3 {
			for limit := 1; limit < len(all)+3; limit++ {
				from, to := min(after, len(all)), min(after+limit, len(all))
				got := must[[]rushgate.Event](t)(d.Events(t.Context(), s.ID, int64(after), limit))
				same(t, "a part", append([]rushgate.Event{}, got...), append([]rushgate.Event{}, all[from:to]...))
			}
		}
		if got := must[[]rushgate.Event](t)(d.Events(t.Context(), "ghost", 0, 5)); len(got) != 0 {
			t.Fatalf("a ghost has events: %v", got)
		}
	}},
	{"NothingComesAfterTheLargestNumbers", func(t *testing.T, f Factory) {
		d := open(t, f)
		s := d.sell(0, item("a", 100))
		d.record(later(1), grant(s, d.claim(s, "a", "ann"), d.claim(s, "a", "bob")), &rushgate.Restock{Sale: s.ID, Item: "a", Add: 1})
		for back := range int64(12) {
			for _, limit := range []int{1, 10, math.MaxInt} {
				if got := must[[]rushgate.Event](t)(d.Events(t.Context(), s.ID, math.MaxInt64-back, limit)); len(got) != 0 {
					t.Fatalf("%d numbers before the largest, limit %d: %+v", back, limit, got)
				}
			}
		}
	}},
	{"NoEventForNoChange", func(t *testing.T, f Factory) {
		d := open(t, f)
		s := d.sell(1, item("a", 100))
		c := d.claim(s, "a", "ann")
		d.record(start, grant(s, c), grant(s))
		d.record(later(1), move(rushgate.ExpiredState, c), &rushgate.Move{Sale: s.ID, To: rushgate.Confirmed})
		if got := must[[]rushgate.Event](t)(d.Events(t.Context(), s.ID, 0, 100)); len(got) != 2 {
			t.Fatalf("events: %+v", got)
		}
		d.sound(s.ID)
	}},
}
