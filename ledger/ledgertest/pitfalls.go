package ledgertest

import (
	"fmt"
	"testing"
	"time"

	"rushgate"
)

// pitfalls are what other systems got wrong, each in the words of its victims.
var pitfalls = []test{
	{"TestSoldPlusOneIsRefused", func(t *testing.T, f Factory) {
		d := open(t, f)
		s := d.sell(1, item("a", 3))
		for i := range 3 {
			d.record(start, grant(s, d.claim(s, "a", fmt.Sprint("u", i))))
		}
		d.refused(rushgate.BarrierStock, grant(s, d.claim(s, "a", "u3")))
	}},
	{"TestAQuotaOfOneIsSoldOnce", func(t *testing.T, f Factory) {
		d := open(t, f)
		s := d.sell(1, item("a", 1))
		d.refused(rushgate.BarrierStock, grant(s, d.claim(s, "a", "ann")), grant(s, d.claim(s, "a", "bob")))
		d.record(start, grant(s, d.claim(s, "a", "ann")))
	}},
	{"TestBatchLinesTakeFromEachOther", func(t *testing.T, f Factory) {
		d := open(t, f)
		s := d.sell(0, item("a", 5))
		d.refused(rushgate.BarrierStock, grant(s, ofUnits(d.claim(s, "a", "ann"), 3), ofUnits(d.claim(s, "a", "bob"), 3)))
	}},
	{"TestRestockAfterSoldOutStartsFromZeroNotBelow", func(t *testing.T, f Factory) {
		d := open(t, f)
		s := d.sell(1, item("a", 1))
		d.record(start, grant(s, d.claim(s, "a", "u0")))
		for range 3 {
			d.refused(rushgate.BarrierStock, grant(s, d.claim(s, "a", "late")))
		}
		d.record(start, &rushgate.Restock{Sale: s.ID, Item: "a", Add: 2})
		d.record(start, grant(s, d.claim(s, "a", "u1"), d.claim(s, "a", "u2")))
		d.refused(rushgate.BarrierStock, grant(s, d.claim(s, "a", "u3")))
		d.stock(s.ID, rushgate.Stock{Item: "a", Total: 3, Taken: 3})
	}},
	{"TestTakingBackNeverTouchesSoldUnits", func(t *testing.T, f Factory) {
		d := open(t, f)
		s := d.sell(1, item("a", 2))
		d.record(start, grant(s, d.claim(s, "a", "ann"), d.atOnce(s, "a", "bob")))
		d.refused(rushgate.BarrierStock, &rushgate.Restock{Sale: s.ID, Item: "a", Add: -1})
	}},
	{"TestOrderNumbersNeverRepeat", func(t *testing.T, f Factory) {
		d := open(t, f)
		s := d.sell(1, item("a", 2))
		c := d.claim(s, "a", "ann")
		d.record(start, grant(s, c))
		d.record(later(1), move(rushgate.Released, c))
		d.reopen()
		if last := must[rushgate.ID](t)(d.LastID(t.Context())); last < c.ID {
			t.Fatalf("the last id is %d, want at least %d, though its claim has ended", last, c.ID)
		}
		again := d.claim(s, "a", "bob")
		again.ID = c.ID
		d.refused(rushgate.BarrierID, grant(s, again))
	}},
	{"TestTwelveThousandSalesAreTwelveThousandRows", func(t *testing.T, f Factory) {
		d := open(t, f)
		const n = 12_000
		s := d.sell(1, item("a", n))
		claims := make([]rushgate.Claim, n)
		for i := range claims {
			claims[i] = d.claim(s, "a", fmt.Sprint("user-", i))
		}
		d.record(start, grant(s, claims...))
		y := d.sound(s.ID)
		if y.Claims[rushgate.Held] != n || y.Users != n || y.Events[rushgate.ClaimHeld] != n || y.Items[0].CountedHeld != n {
			t.Fatalf("%+v", y)
		}
	}},
	{"TestCancellingGivesTheUnitAndTheSlotBack", func(t *testing.T, f Factory) {
		d := open(t, f)
		s := d.sell(1, item("a", 1))
		for i := range 3 {
			c := d.claim(s, "a", "ann")
			d.record(later(i), grant(s, c))
			if i == 1 {
				d.record(start.Add(s.Hold), move(rushgate.ExpiredState, c))
			} else {
				d.record(later(i), move(rushgate.Released, c))
			}
		}
		d.stock(s.ID, rushgate.Stock{Item: "a", Total: 1})
		d.sound(s.ID)
	}},
	{"TestARedeliveredBatchIsKnownAgain", func(t *testing.T, f Factory) {
		d := open(t, f)
		s := d.sell(1, item("a", 5))
		b := d.batch(later(1), grant(s, d.claim(s, "a", "ann")))
		if err := d.Record(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		d.reopen()
		if yes, err := d.Recorded(t.Context(), b); !yes || err != nil {
			t.Fatalf("Recorded says %v, %v", yes, err)
		}
		stopped(t, d.Record(t.Context(), b), rushgate.BarrierID)
		d.stock(s.ID, rushgate.Stock{Item: "a", Total: 5, Taken: 1})
	}},
	{"TestMillisecondsSurvive", func(t *testing.T, f Factory) {
		d := open(t, f)
		s := d.sell(0, item("a", 100))
		want := map[time.Time]bool{}
		var claims []rushgate.Claim
		for i := range 100 {
			c := d.claim(s, "a", "ann")
			c.CreatedAt = start.Add(time.Duration(i) * time.Millisecond)
			claims, want[c.CreatedAt] = append(claims, c), true
		}
		d.record(later(1), grant(s, claims...))
		for _, c := range must[[]rushgate.Claim](t)(d.Claims(t.Context(), rushgate.ClaimQuery{Sale: s.ID, Limit: 100})) {
			delete(want, c.CreatedAt)
		}
		if len(want) != 0 {
			t.Fatalf("%d moments were lost", len(want))
		}
	}},
	{"TestAPausedHolderOfAnOldEpochCannotGrant", func(t *testing.T, f Factory) {
		d := open(t, f)
		paused := d.sell(1, item("a", 1))
		awake := d.fence(paused.ID)
		d.record(start, grant(awake, d.claim(awake, "a", "ann")))
		d.refused(rushgate.BarrierEpoch, grant(paused, d.claim(paused, "a", "bob")))
	}},
}
