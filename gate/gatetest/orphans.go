package gatetest

import (
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"rushgate"
)

// orphans returns the orphans of a sale by id.
func (d *duo) orphans(g rushgate.Shared, age time.Duration, limit int) []rushgate.Claim {
	d.t.Helper()
	claims, epoch, err := g.Orphans(d.ctx, "sale", age, limit)
	d.ok(err)
	if epoch != d.epochs["sale"] {
		d.t.Fatalf("orphans of epoch %d, want %d", epoch, d.epochs["sale"])
	}
	slices.SortFunc(claims, func(a, b rushgate.Claim) int { return int(a.ID - b.ID) })
	return claims
}

func orphansAreWhole(d *duo) {
	for _, hold := range []time.Duration{0, 15 * time.Minute} {
		sale := d.stage.open("sale", 3, 9)
		sale.Hold = hold
		d.put(sale)
		asks := []rushgate.Ask{d.keyed("sale", "王 伟", 1, "scope key"), d.ask("sale", "v", 2), d.ask("sale", "v", 9), d.ask("sale", "v", 1)}
		out := d.codes(asks, rushgate.Granted, rushgate.Granted, rushgate.LimitReached, rushgate.Granted)
		var want []rushgate.Claim
		for i, a := range asks {
			if out[i].Code != rushgate.Granted {
				continue
			}
			c := claimOf(a, out[i])
			c.CreatedAt = out[i].At
			if hold > 0 {
				c.ExpiresAt = c.CreatedAt.Add(hold)
			} else {
				c.State, c.EndedAt = rushgate.Confirmed, c.CreatedAt
			}
			want = append(want, c)
		}
		if diff := cmp.Diff(want, d.orphans(d.there, 0, 100), cmpopts.EquateApproxTime(0)); diff != "" {
			d.t.Fatalf("orphans (-want +got):\n%s", diff)
		}
		d.forget(want...)
	}
}

// A batch in which everybody asks for the same is the plainest one, and what is
// left of it is still whole when a part was settled or forgotten.
func orphansOfARush(d *duo) {
	for _, limit := range []int64{0, 2} {
		sale := d.open("sale", limit, 9)
		asks := []rushgate.Ask{d.ask("sale", "u", 1), d.ask("sale", "v", 1), d.ask("sale", "w", 1), d.ask("sale", "x", 1)}
		var want []rushgate.Claim
		for i, decision := range d.codes(asks, rushgate.Granted, rushgate.Granted, rushgate.Granted, rushgate.Granted) {
			c := claimOf(asks[i], decision)
			c.CreatedAt, c.State, c.EndedAt = decision.At, rushgate.Confirmed, decision.At
			want = append(want, c)
		}
		d.other.settle(want[0])
		d.forget(want[2])
		d.counts("sale", 6, 2)
		want = []rushgate.Claim{want[1], want[3]}
		if diff := cmp.Diff(want, d.orphans(d.there, 0, 100), cmpopts.EquateApproxTime(0)); diff != "" {
			d.t.Fatalf("orphans (-want +got):\n%s", diff)
		}
		d.settle(want...)
		d.counts("sale", 6, 0)
		d.load(sale, nil, rushgate.Stock{Item: "a", Total: 9})
	}
}

func orphansOfAnAge(d *duo) {
	d.open("sale", 0, 99)
	for range 5 {
		d.claim(d.ask("sale", "u", 1), d.ask("sale", "v", 1))
	}
	if got := d.orphans(d.there, time.Hour, 100); len(got) != 0 {
		d.t.Fatalf("%d orphans are an hour old", len(got))
	}
	if got := d.orphans(d.there, 0, 100); len(got) != 10 {
		d.t.Fatalf("%d orphans, want 10", len(got))
	}
	if got := d.orphans(d.there, 0, 3); len(got) != 3 {
		d.t.Fatalf("%d orphans, want the 3 that were asked for", len(got))
	}
}

func anyNodeSettles(d *duo) {
	for _, limit := range []int64{0, 2} {
		sale := d.open("sale", limit, 9)
		a, b := d.keyed("sale", "u", 1, "k"), d.ask("sale", "v", 2)
		d.claim(a, b, d.ask("sale", "w", 1))
		orphans := d.orphans(d.there, 0, 100)
		d.other.settle(orphans[0])
		d.other.settle(orphans[0])
		d.counts("sale", 5, 3)
		d.settle(orphans...) // the first node comes late
		d.other.settle(orphans...)
		d.counts("sale", 5, 0)
		if got := d.orphans(d.there, 0, 100); len(got) != 0 {
			d.t.Fatalf("settled, and still there: %+v", got)
		}
		d.other.giveBack(orphans...)
		d.counts("sale", 9, 0)
		d.load(sale, nil, rushgate.Stock{Item: "a", Total: 9})
	}
}

func anyNodeForgets(d *duo) {
	d.open("sale", 1, 9)
	d.claim(d.keyed("sale", "u", 1, "k"), d.ask("sale", "v", 1))
	orphans := d.orphans(d.there, 0, 100)
	d.other.forget(orphans[0])
	d.counts("sale", 8, 1)
	d.forget(orphans...)
	d.counts("sale", 9, 0)
	d.grant(d.keyed("sale", "u", 1, "k"))
}

// Claims of several batches are settled in any order and company, some twice,
// some after their batch was asked again and granted more.
func settledOnceOfManyBatches(d *duo) {
	if d.f.Shards > 1 {
		return // the order of a batch holds within a shard
	}
	for _, limit := range []int64{0, 5} {
		sale := d.open("sale", limit, 4)
		asks := []rushgate.Ask{d.ask("sale", "u", 1), d.ask("sale", "v", 2), d.ask("sale", "w", 2), d.ask("sale", "x", 1)}
		out := d.codes(asks, rushgate.Granted, rushgate.Granted, rushgate.SoldOut, rushgate.Granted)
		u, v := claimOf(asks[0], out[0]), claimOf(asks[1], out[1])
		d.settle(u)
		d.restock("sale", 3, true)
		d.counts("sale", 3, 3)
		out = d.codes(asks, rushgate.Granted, rushgate.Granted, rushgate.Granted, rushgate.Granted)
		d.counts("sale", 1, 5)
		d.settle(u, v)
		d.other.settle(u, v, u)
		d.counts("sale", 1, 3)
		w, x := claimOf(asks[2], out[2]), claimOf(asks[3], out[3])
		d.other.giveBack(w)
		d.counts("sale", 3, 1)
		d.settle(u, v, w, x)
		d.counts("sale", 3, 0)
		if got := d.orphans(d.here, 0, 100); len(got) != 0 {
			d.t.Fatalf("orphans of nobody: %+v", got)
		}
		d.load(sale, nil, rushgate.Stock{Item: "a", Total: 4})
	}
}
