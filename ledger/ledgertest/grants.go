package ledgertest

import (
	"context"
	"testing"
	"time"

	"rushgate"
)

var grants = []test{
	{"AGrantIsRecordedAsItIs", func(t *testing.T, f Factory) {
		d := open(t, f)
		s := d.sell(2, item("a", 10), item("b", 10))
		want := []rushgate.Claim{
			withKey(d.claim(s, "a", "ann"), "dev:key-1"),
			ofUnits(inSlot(d.claim(s, "b", "李雷 \"quoted\" \\ back 'n' ☂"), 1), 2),
			d.atOnce(s, "a", "bob"),
			inSlot(withKey(d.claim(s, "b", "ann"), `k"\e'y`), 1),
		}
		want[1].CreatedAt = later(2)
		d.record(later(3), grant(s, want...))
		for range 2 {
			got := must[[]rushgate.Claim](t)(d.Claims(context.Background(), rushgate.ClaimQuery{Sale: s.ID, Limit: 10}))
			same(t, "claims", got, want)
			same(t, "claim", d.read(want[1].ID), want[1])
			d.stock(s.ID, rushgate.Stock{Item: "a", Total: 10, Taken: 2, Confirmed: 1}, rushgate.Stock{Item: "b", Total: 10, Taken: 3})
			d.sound(s.ID)
			d.reopen()
		}
	}},
	{"LongestNamesAndLargestIDs", func(t *testing.T, f Factory) {
		d := open(t, f)
		long := func(n int) string {
			b := make([]byte, n)
			for i := range b {
				b[i] = byte('a' + i%26)
			}
			return string(b)
		}
		s := sale(long(rushgate.MaxIDBytes), rushgate.MaxPerUser, item(long(rushgate.MaxIDBytes), rushgate.MaxStock))
		d.record(start, &rushgate.Put{Sale: s, Kind: rushgate.SaleCreated})
		c := withKey(ofUnits(inSlot(d.claim(s, s.Items[0].ID, long(rushgate.MaxUser)), int32(rushgate.MaxPerUser-1)), rushgate.MaxPerUser), long(rushgate.MaxKey))
		c.ID = 1<<63 - 1
		d.record(later(1), grant(s, c))
		same(t, "claim", d.read(c.ID), c)
	}},
	{"BarrierStock", func(t *testing.T, f Factory) {
		d := open(t, f)
		s := d.sell(0, item("a", 3), item("b", 1))
		d.record(start, grant(s, ofUnits(d.claim(s, "a", "ann"), 2)))
		d.refused(rushgate.BarrierStock, grant(s, ofUnits(d.claim(s, "a", "bob"), 2)))
		d.refused(rushgate.BarrierStock, grant(s, d.claim(s, "a", "bob"), d.claim(s, "b", "bob"), d.claim(s, "b", "cy")))
		d.record(start, grant(s, d.claim(s, "a", "bob"), d.claim(s, "b", "bob")))
	}},
	{"BarrierSlot", func(t *testing.T, f Factory) {
		d := open(t, f)
		s := d.sell(2, item("a", 10))
		other := d.sell(2, item("a", 10))
		d.record(start, grant(s, d.claim(s, "a", "ann")))
		d.refused(rushgate.BarrierSlot, grant(s, d.claim(s, "a", "ann")))
		d.refused(rushgate.BarrierSlot, grant(s, d.claim(s, "a", "bob"), d.claim(s, "a", "bob")))
		d.record(start, grant(s, inSlot(d.claim(s, "a", "ann"), 1), d.claim(s, "a", "Ann")), grant(other, d.claim(other, "a", "ann")))
	}},
	{"BarrierLimit", func(t *testing.T, f Factory) {
		d := open(t, f)
		s := d.sell(3, item("a", 100), item("b", 100))
		d.record(start, grant(s, ofUnits(d.claim(s, "a", "ann"), 2)))
		d.refused(rushgate.BarrierLimit, grant(s, ofUnits(inSlot(d.claim(s, "b", "ann"), 1), 2)))
		d.refused(rushgate.BarrierLimit, grant(s, ofUnits(d.claim(s, "a", "bob"), 2), ofUnits(inSlot(d.claim(s, "b", "bob"), 1), 2)))
		d.refused(rushgate.BarrierLimit, grant(s, ofUnits(d.claim(s, "a", "cy"), 4)))
		d.refused(rushgate.BarrierLimit, grant(s, inSlot(d.claim(s, "a", "cy"), 3)))
		d.record(start, grant(s, inSlot(d.claim(s, "b", "ann"), 1)))
	}},
	{"BarrierEpoch", func(t *testing.T, f Factory) {
		d := open(t, f)
		s := d.sell(1, item("a", 10))
		fenced := d.fence(s.ID)
		d.refused(rushgate.BarrierEpoch, grant(s, d.claim(s, "a", "ann")))
		d.record(start, grant(fenced, d.claim(s, "a", "ann")))
	}},
	{"BarrierID", func(t *testing.T, f Factory) {
		d := open(t, f)
		s, other := d.sell(0, item("a", 10)), d.sell(0, item("a", 10))
		first := withKey(d.claim(s, "a", "ann"), "key")
		d.record(start, grant(s, first))
		again := first
		again.Key = ""
		d.refused(rushgate.BarrierID, grant(s, again))
		d.refused(rushgate.BarrierID, grant(s, withKey(d.claim(s, "a", "bob"), "key")))
		d.refused(rushgate.BarrierID, grant(s, withKey(d.claim(s, "a", "bob"), "k"), withKey(d.claim(s, "a", "cy"), "k")))
		d.record(start, move(rushgate.Released, first))
		d.refused(rushgate.BarrierID, grant(s, withKey(d.claim(s, "a", "bob"), "key"))) // the key tells of the ended claim
		d.record(start, grant(other, withKey(d.claim(other, "a", "ann"), "key")))
		d.batches-- // the same batch id again
		before := d.everything()
		stopped(t, d.Record(context.Background(), d.batch(later(1), grant(s, d.claim(s, "a", "dee")))), rushgate.BarrierID)
		same(t, "after a batch id was used again", d.everything(), before)
	}},
	{"BarrierExists", func(t *testing.T, f Factory) {
		d := open(t, f)
		s := d.sell(1, item("a", 10))
		ghost := sale("ghost", 1, item("a", 1))
		d.refused(rushgate.BarrierExists, grant(ghost, d.claim(ghost, "a", "ann")))
		d.refused(rushgate.BarrierExists, grant(s, d.claim(s, "b", "ann")))
		d.refused(rushgate.BarrierExists, &rushgate.Put{Sale: s, Kind: rushgate.SaleCreated})
		d.refused(rushgate.BarrierExists, &rushgate.Put{Sale: ghost, Kind: rushgate.SaleChanged})
		d.refused(rushgate.BarrierExists, &rushgate.Restock{Sale: s.ID, Item: "b", Add: 1})
		d.refused(rushgate.BarrierExists, &rushgate.Restock{Sale: "ghost", Item: "a", Add: 1})
	}},
	{"ABatchIsAllOrNothing", func(t *testing.T, f Factory) {
		d := open(t, f)
		s := d.sell(1, item("a", 10))
		held := d.claim(s, "a", "ann")
		d.record(start, grant(s, held))
		changed := *s
		changed.Name, changed.Frozen = "Changed", true
		d.refused(rushgate.BarrierStock,
			grant(s, d.claim(s, "a", "bob")),
			move(rushgate.Confirmed, held),
			&rushgate.Put{Sale: sale("another", 1, item("z", 1)), Kind: rushgate.SaleCreated},
			&rushgate.Put{Sale: &changed, Kind: rushgate.SaleWasFrozen},
			&rushgate.Restock{Sale: s.ID, Item: "a", Add: 5},
			&rushgate.Restock{Sale: s.ID, Item: "a", Add: -100})
	}},
	{"StepsSeeTheStepsBefore", func(t *testing.T, f Factory) {
		d := open(t, f)
		s := sale("made-and-sold", 1, item("a", 1))
		c, next := d.claim(s, "a", "ann"), d.claim(s, "a", "ann")
		m := move(rushgate.Released, c)
		d.record(start, &rushgate.Put{Sale: s, Kind: rushgate.SaleCreated}, grant(s, c), m, grant(s, next))
		if len(m.Moved) != 1 || d.read(next.ID).State != rushgate.Held {
			t.Fatalf("moved %v", m.Moved)
		}
		d.sound(s.ID)
	}},
	{"NothingIsWrittenForACallerWhoHasLeft", func(t *testing.T, f Factory) {
		d := open(t, f)
		s := d.sell(1, item("a", 1))
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		c := d.claim(s, "a", "ann")
		if err := d.Record(ctx, d.batch(start, grant(s, c))); err == nil {
			t.Fatal("recorded")
		}
		d.stock(s.ID, rushgate.Stock{Item: "a", Total: 1})
	}},
	{"WhatNoGateMayAskForIsRefused", func(t *testing.T, f Factory) {
		d := open(t, f)
		s, free := d.sell(1, item("a", 10)), d.sell(0, item("a", 10))
		before := d.everything()
		bad := func(c rushgate.Claim, spoil func(*rushgate.Claim)) *rushgate.Grant {
			spoil(&c)
			g := grant(s, c)
			if c.Sale == free.ID {
				g = grant(free, c)
			}
			return g
		}
		for _, g := range []*rushgate.Grant{
			bad(d.claim(s, "a", "ann"), func(c *rushgate.Claim) { c.State = rushgate.Released }),
			bad(d.claim(s, "a", "ann"), func(c *rushgate.Claim) { c.Quantity = 0 }),
			bad(d.claim(s, "a", "ann"), func(c *rushgate.Claim) { c.Quantity = -1 }),
			bad(d.claim(s, "a", "ann"), func(c *rushgate.Claim) { c.ID = 0 }),
			bad(d.claim(s, "a", "ann"), func(c *rushgate.Claim) { c.Slot = rushgate.NoSlot }),
			bad(d.claim(s, "a", "ann"), func(c *rushgate.Claim) { c.ExpiresAt = time.Time{} }),
			bad(d.claim(free, "a", "ann"), func(c *rushgate.Claim) { c.Slot = 0 }),
			grant(s, d.claim(free, "a", "ann")),
		} {
			if err := d.Record(context.Background(), d.batch(start, g)); err == nil {
				t.Fatalf("recorded %+v", g.Claims)
			}
		}
		same(t, "after refused grants", d.everything(), before)
	}},
	{"FenceRisesAndLasts", func(t *testing.T, f Factory) {
		d := open(t, f)
		s := d.sell(1, item("a", 1))
		for want := s.Epoch + 1; want < 5; want++ {
			got := d.fence(s.ID)
			if got.Epoch != want || got.Name != s.Name || len(got.Items) != 1 || got.Items[0] != s.Items[0] {
				t.Fatalf("got %+v, want epoch %d", got, want)
			}
			d.reopen()
		}
		if _, _, err := d.Fence(context.Background(), "ghost", 0); rushgate.CodeOf(err) != rushgate.NotFound {
			t.Fatalf("fenced a ghost: %v", err)
		}
	}},
}
