package ledgertest

import (
	"testing"

	"rushgate"
)

var tallies = []test{
	{"TallyCountsWhatIsThere", func(t *testing.T, f Factory) {
		d := open(t, f)
		s := d.sell(3, item("a", 10), item("b", 10))
		held, free, paid := d.claim(s, "a", "ann"), ofUnits(d.claim(s, "b", "bob"), 2), ofUnits(inSlot(d.claim(s, "a", "ann"), 1), 2)
		d.record(start, grant(s, held, free, paid, d.atOnce(s, "b", "cy")))
		d.record(later(1), move(rushgate.Released, free), move(rushgate.Confirmed, paid))
		d.record(later(1), &rushgate.Restock{Sale: s.ID, Item: "a", Add: 5})
		y := d.sound(s.ID)
		if y.Overdue != 1 || !y.OldestDue.Equal(held.ExpiresAt) { // the story is long past
			t.Fatalf("overdue %d since %v", y.Overdue, y.OldestDue)
		}
		want := &rushgate.Tally{
			Items: []rushgate.ItemTally{
				{Stock: rushgate.Stock{Item: "a", Total: 15, Taken: 3, Confirmed: 2}, CountedHeld: 1, CountedConfirmed: 2},
				{Stock: rushgate.Stock{Item: "b", Total: 10, Taken: 1, Confirmed: 1}, CountedConfirmed: 1},
			},
			OverLimit: map[string]int64{}, Users: 2, LastSeq: 8,
			Claims: map[rushgate.State]int64{rushgate.Held: 1, rushgate.Released: 1, rushgate.Confirmed: 2},
			Events: map[rushgate.EventKind]int64{rushgate.SaleCreated: 1, rushgate.ClaimHeld: 3, rushgate.ClaimConfirmed: 2,
				rushgate.ClaimReleased: 1, rushgate.ItemRestocked: 1},
			Overdue: y.Overdue, OldestDue: y.OldestDue, Sale: y.Sale,
		}
		same(t, "tally", y, want)
		same(t, "sale", *y.Sale, must[[]rushgate.Sale](t)(d.Sales(t.Context()))[0])
	}},
	{"TallySeesUsersOverALimitThatWasLowered", func(t *testing.T, f Factory) {
		d := open(t, f)
		s := d.sell(3, item("a", 10))
		d.record(start, grant(s, ofUnits(d.claim(s, "a", "ann"), 3), ofUnits(d.claim(s, "a", "bob"), 2), d.claim(s, "a", "cy")))
		lower := *s
		lower.PerUser = 1
		d.record(later(1), &rushgate.Put{Sale: &lower, Kind: rushgate.SaleChanged})
		y := must[*rushgate.Tally](t)(d.Tally(t.Context(), s.ID))
		same(t, "over the limit", y.OverLimit, map[string]int64{"ann": 3, "bob": 2})
	}},
}
