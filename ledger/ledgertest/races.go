package ledgertest

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"rushgate"
)

// races are two nodes that want the same at the same time.
var races = []sharedTest{
	{"TheLastUnit", func(t *testing.T, s SharedStorage) {
		oneWins(t, s, rushgate.BarrierStock, func(d *desk, sale *rushgate.Sale) *rushgate.Grant {
			return grant(sale, d.claim(sale, "last", fmt.Sprint("u", d.ids)))
		})
	}},
	{"TheSameSlot", func(t *testing.T, s SharedStorage) {
		oneWins(t, s, rushgate.BarrierSlot, func(d *desk, sale *rushgate.Sale) *rushgate.Grant {
			return grant(sale, d.claim(sale, "many", "ann"))
		})
	}},
	{"TheSameKey", func(t *testing.T, s SharedStorage) {
		oneWins(t, s, rushgate.BarrierID, func(d *desk, sale *rushgate.Sale) *rushgate.Grant {
			return grant(sale, withKey(d.claim(sale, "many", fmt.Sprint("u", d.ids)), "key"))
		})
	}},
	{"TheSameClaim", func(t *testing.T, s SharedStorage) { // an orphan that two nodes adopt
		oneWins(t, s, rushgate.BarrierID, func(d *desk, sale *rushgate.Sale) *rushgate.Grant {
			c := d.claim(sale, "many", fmt.Sprint("u", d.ids))
			c.ID %= 1_000_000 // which number of the node's it is
			return grant(sale, c)
		})
	}},
	{"UnitsOfOneUserInTwoSlots", func(t *testing.T, s SharedStorage) {
		all := nodes(t, s, 2)
		for range 15 {
			sale := all[0].sell(3, item("many", 100))
			errs := atOnce(all, func(i int, d *desk) error {
				return d.try(grant(sale, ofUnits(inSlot(d.claim(sale, "many", "ann"), int32(i)), 2)))
			})
			oneRefused(t, errs, rushgate.BarrierLimit)
			all[0].sound(sale.ID)
		}
	}},
	{"OneClaimEndsOnce", func(t *testing.T, s SharedStorage) {
		all := nodes(t, s, 3)
		sale := all[0].sell(0, item("many", 100))
		ends := []rushgate.State{rushgate.Confirmed, rushgate.Released, rushgate.Confirmed}
		for range 15 {
			c := all[0].claim(sale, "many", "ann")
			all[0].record(start, grant(sale, c))
			steps := make([]*rushgate.Move, len(all))
			for _, err := range atOnce(all, func(i int, d *desk) error {
				steps[i] = move(ends[i], c)
				return d.try(steps[i])
			}) {
				if err != nil {
					t.Fatal(err)
				}
			}
			if n := len(steps[0].Moved) + len(steps[1].Moved) + len(steps[2].Moved); n != 1 {
				t.Fatalf("%d nodes moved the claim", n)
			}
		}
		all[0].sound(sale.ID)
	}},
	{"OneChangeOfTheRules", func(t *testing.T, s SharedStorage) {
		all := nodes(t, s, 2)
		sale := all[0].sell(1, item("many", 100))
		for version := int64(1); version < 15; version++ {
			errs := atOnce(all, func(i int, d *desk) error {
				c := *sale
				c.Name, c.Version = fmt.Sprint("by node ", i), version+1
				return d.try(&rushgate.Put{Sale: &c, Kind: rushgate.SaleChanged, Was: version})
			})
			oneRefused(t, errs, rushgate.BarrierVersion)
		}
		all[0].sound(sale.ID)
	}},
	{"OneSaleOfAName", func(t *testing.T, s SharedStorage) {
		all := nodes(t, s, 2)
		for i := range 10 {
			made := sale(fmt.Sprint("made-", i), 1, item("a", 1), item("b", 1))
			errs := atOnce(all, func(_ int, d *desk) error { return d.try(&rushgate.Put{Sale: made, Kind: rushgate.SaleCreated}) })
			oneRefused(t, errs, rushgate.BarrierExists)
			all[0].sound(made.ID)
		}
	}},
	{"OneFenceTakesTheEpoch", func(t *testing.T, s SharedStorage) {
		all := nodes(t, s, 4)
		sale := all[0].sell(1, item("many", 100))
		for epoch := int64(1); epoch < 15; epoch++ {
			taken := make([]bool, len(all))
			for _, err := range atOnce(all, func(i int, d *desk) error {
				got, yes, err := d.Fence(context.Background(), sale.ID, epoch)
				if taken[i] = yes; err == nil && got.Epoch != epoch+1 {
					err = fmt.Errorf("epoch %d, want %d", got.Epoch, epoch+1)
				}
				return err
			}) {
				if err != nil {
					t.Fatal(err)
				}
			}
			n := 0
			for _, yes := range taken {
				n += int(boolInt(yes))
			}
			if n != 1 {
				t.Fatalf("%d nodes took epoch %d", n, epoch+1)
			}
		}
	}},
	{"NothingOfAnOldEpochComesAfterTheFence", fencedInTheMiddle},
}

// oneWins lets two nodes record grants that cannot both be, again and again.
func oneWins(t *testing.T, s SharedStorage, by rushgate.Barrier, want func(*desk, *rushgate.Sale) *rushgate.Grant) {
	t.Helper()
	all := nodes(t, s, 2)
	for range 15 {
		sale := all[0].sell(1, item("many", 100), item("last", 1))
		errs := atOnce(all, func(_ int, d *desk) error { return d.try(want(d, sale)) })
		oneRefused(t, errs, by)
		if y := all[1].sound(sale.ID); y.Claims[rushgate.Held] != 1 || y.LastSeq != 2 {
			t.Fatalf("claims %v, %d events", y.Claims, y.LastSeq)
		}
	}
}

// oneRefused checks that all but one were refused, by one barrier.
func oneRefused(t *testing.T, errs []error, by rushgate.Barrier) {
	t.Helper()
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
		} else {
			stopped(t, err, by)
		}
	}
	if won != 1 {
		t.Fatalf("%d of %d nodes won", won, len(errs))
	}
}

// fencedInTheMiddle fences a sale off while two nodes sell it: what the fence
// finds when it has returned is all that the old epoch ever sold.
func fencedInTheMiddle(t *testing.T, s SharedStorage) {
	all := nodes(t, s, 3)
	sale := all[0].sell(0, item("many", 1_000_000))
	for range 10 {
		sold := make(chan struct{}, 1)
		var seen int64
		errs := atOnce(all, func(i int, d *desk) error {
			if i > 0 {
				return d.sellUntilFenced(sale, sold)
			}
			<-sold // somebody is in the middle of it
			if _, taken, err := d.Fence(context.Background(), sale.ID, sale.Epoch); err != nil || !taken {
				return fmt.Errorf("fence: taken %v, %w", taken, err)
			}
			y, err := d.Tally(context.Background(), sale.ID)
			if err == nil {
				seen = y.LastSeq
			}
			return err
		})
		if errs[0] != nil {
			t.Fatal(errs[0])
		}
		stopped(t, errs[1], rushgate.BarrierEpoch)
		stopped(t, errs[2], rushgate.BarrierEpoch)
		y := all[0].sound(sale.ID)
		if y.LastSeq != seen {
			t.Fatalf("%d events when the fence had returned, %d afterwards", seen, y.LastSeq)
		}
		sale = y.Sale
	}
}

func (d *desk) sellUntilFenced(sale *rushgate.Sale, sold chan<- struct{}) error {
	for range 10_000 {
		if err := d.try(grant(sale, d.claim(sale, "many", "ann"), d.claim(sale, "many", "bob"))); err != nil {
			return err
		}
		select {
		case sold <- struct{}{}:
		default:
		}
	}
	return errors.New("it sold on and on")
}
