package ledgertest

import (
	"testing"
	"time"

	"rushgate"
)

var puts = []test{
	{"ASaleIsRecordedAsItIs", func(t *testing.T, f Factory) {
		d := open(t, f)
		full := &rushgate.Sale{ID: "full", Name: "黄金 \"sale\"", OpensAt: later(-1), ClosesAt: later(3600), PerUser: 3,
			Hold: 90*time.Second + time.Millisecond, Ack: rushgate.Recorded, Frozen: true, Ended: true, Epoch: 7, Version: 9, Shards: 16, CreatedAt: later(-2),
			Items: []rushgate.Item{item("z", 0), item("A.b_c-1", 5), item("a", rushgate.MaxStock)}}
		bare := sale("bare", 0, item("a", 1))
		bare.Hold = 0
		want := []rushgate.Sale{*full, *bare}
		d.record(start, &rushgate.Put{Sale: full, Kind: rushgate.SaleCreated})
		d.record(start, &rushgate.Put{Sale: bare, Kind: rushgate.SaleCreated})
		for range 2 {
			same(t, "sales", must[[]rushgate.Sale](t)(d.Sales(t.Context())), want)
			d.reopen()
		}
		d.stock("full", rushgate.Stock{Item: "z"}, rushgate.Stock{Item: "A.b_c-1", Total: 5}, rushgate.Stock{Item: "a", Total: rushgate.MaxStock})
	}},
	{"AChangeLeavesItemsStockAndEpoch", func(t *testing.T, f Factory) {
		d := open(t, f)
		s := d.sell(2, item("a", 10))
		fenced := d.fence(s.ID)
		c := *s
		c.Name, c.PerUser, c.OpensAt, c.ClosesAt, c.Hold, c.Frozen = "New", 5, later(1), later(2), time.Minute, true
		c.Items, c.Epoch = []rushgate.Item{item("other", 99)}, 77
		d.record(later(1), &rushgate.Put{Sale: &c, Kind: rushgate.SaleChanged})
		want := c
		want.Items, want.Epoch = s.Items, fenced.Epoch
		for range 2 {
			same(t, "sale", must[[]rushgate.Sale](t)(d.Sales(t.Context())), []rushgate.Sale{want})
			d.reopen()
		}
		want.Frozen, want.Ended, want.OpensAt = false, true, time.Time{}
		d.record(later(2), &rushgate.Put{Sale: &want, Kind: rushgate.SaleWasClosed})
		same(t, "sale", must[[]rushgate.Sale](t)(d.Sales(t.Context())), []rushgate.Sale{want})
	}},
	{"AChangeFromAnOlderStateIsRefused", func(t *testing.T, f Factory) {
		d := open(t, f)
		s := d.sell(1, item("a", 10))
		c := *s
		c.Version, c.Frozen = 2, true
		d.record(later(1), &rushgate.Put{Sale: &c, Kind: rushgate.SaleWasFrozen, Was: 1, Epoch: 1})
		again := *s
		again.Version, again.Name = 3, "made from version 1"
		d.refused(rushgate.BarrierVersion, &rushgate.Put{Sale: &again, Kind: rushgate.SaleChanged, Was: 1})
		fenced := d.fence(s.ID)
		d.refused(rushgate.BarrierEpoch, &rushgate.Put{Sale: &again, Kind: rushgate.SaleChanged, Was: 2, Epoch: 1})
		d.refused(rushgate.BarrierEpoch, &rushgate.Restock{Sale: s.ID, Item: "a", Add: 1, Epoch: 1})
		d.record(later(2), &rushgate.Put{Sale: &again, Kind: rushgate.SaleChanged, Was: 2, Epoch: fenced.Epoch},
			&rushgate.Restock{Sale: s.ID, Item: "a", Add: 1, Epoch: fenced.Epoch})
		d.stock(s.ID, rushgate.Stock{Item: "a", Total: 11})
	}},
	{"OnlyOneOfTwoFencesTakesTheEpoch", func(t *testing.T, f Factory) {
		d := open(t, f)
		s := d.sell(1, item("a", 10))
		first, taken, err := d.Fence(t.Context(), s.ID, 1)
		if err != nil || !taken || first.Epoch != 2 {
			t.Fatalf("the first: %+v, %v, %v", first, taken, err)
		}
		second, taken, err := d.Fence(t.Context(), s.ID, 1)
		if err != nil || taken {
			t.Fatalf("the second: taken %v, %v", taken, err)
		}
		same(t, "what the second sees", second, first)
	}},
	{"RestockWithinItsBounds", func(t *testing.T, f Factory) {
		d := open(t, f)
		s := d.sell(0, item("a", 10), item("b", 0))
		d.record(start, grant(s, ofUnits(d.claim(s, "a", "ann"), 4)))
		d.record(start, &rushgate.Restock{Sale: s.ID, Item: "b", Add: 3}, &rushgate.Restock{Sale: s.ID, Item: "a", Add: -6})
		d.stock(s.ID, rushgate.Stock{Item: "a", Total: 4, Taken: 4}, rushgate.Stock{Item: "b", Total: 3})
		d.refused(rushgate.BarrierStock, &rushgate.Restock{Sale: s.ID, Item: "a", Add: -1})
		d.refused(rushgate.BarrierStock, &rushgate.Restock{Sale: s.ID, Item: "b", Add: -4})
		d.refused(rushgate.BarrierStock, &rushgate.Restock{Sale: s.ID, Item: "b", Add: rushgate.MaxStock - 2})
		d.record(start, &rushgate.Restock{Sale: s.ID, Item: "b", Add: rushgate.MaxStock - 3})
		got := must[[]rushgate.Sale](t)(d.Sales(t.Context()))
		if got[0].Items[0].Stock != 4 || got[0].Items[1].Stock != rushgate.MaxStock {
			t.Fatalf("items %+v", got[0].Items)
		}
		d.sound(s.ID)
	}},
}
