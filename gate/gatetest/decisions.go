package gatetest

import (
	"context"
	"fmt"
	"slices"
	"time"

	"rushgate"
)

func decisions() []scene {
	return []scene{
		{"SoldPlusOne", soldPlusOne},
		{"BatchLinesTakeFromEachOther", batchLinesTakeFromEachOther},
		{"NotEnoughForThisOneIsEnoughForTheNext", notEnoughForThisOne},
		{"SameUserTwiceInOneBatch", sameUserTwiceInOneBatch},
		{"LimitCountsUnitsOfAllItems", limitCountsUnits},
		{"LimitIsPerSale", limitIsPerSale},
		{"MoreThanTheLimitAtOnce", moreThanTheLimitAtOnce},
		{"NoLimitNoSlot", noLimitNoSlot},
		{"LowestFreeSlot", lowestFreeSlot},
		{"SeveralSalesInOneBatch", severalSalesInOneBatch},
		{"RefusalsInTheirOrder", refusalsInTheirOrder},
		{"SameAskAgain", sameAskAgain},
		{"EmptyBatch", func(s *stage) { s.claim() }},
		{"OutOfBoundsTakesNothing", outOfBoundsTakesNothing},
		{"DoneContextTakesNothing", doneContextTakesNothing},
		{"SlicesBelongToTheCaller", slicesBelongToTheCaller},
	}
}

// A test of `total >= sold` before adding one sells N+1.
func soldPlusOne(s *stage) {
	for _, limit := range []int64{0, 1, 3} {
		sale := fmt.Sprintf("sale-%d", limit)
		s.open(sale, limit, 10)
		for i := range 10 {
			s.grant(s.ask(sale, fmt.Sprint("u", i), 1))
		}
		s.want(rushgate.SoldOut, s.ask(sale, "one too many", 1))
		s.counts(sale, 0, 10)
	}
}

// A batch that checks every line against the stock as it was before sells the
// last unit to each of them.
func batchLinesTakeFromEachOther(s *stage) {
	s.open("sale", 1, 3)
	var asks []rushgate.Ask
	for i := range 5 {
		asks = append(asks, s.ask("sale", fmt.Sprint("u", i), 1))
	}
	g, so := rushgate.Granted, rushgate.SoldOut
	s.codes(asks, g, g, g, so, so)
	s.counts("sale", 0, 3)
}

func notEnoughForThisOne(s *stage) {
	if s.f.Shards > 1 {
		return // the order of a batch holds within a shard
	}
	s.open("sale", 0, 3)
	asks := []rushgate.Ask{s.ask("sale", "u1", 2), s.ask("sale", "u2", 2), s.ask("sale", "u3", 1)}
	s.codes(asks, rushgate.Granted, rushgate.SoldOut, rushgate.Granted)
	s.counts("sale", 0, 3)
}

func sameUserTwiceInOneBatch(s *stage) {
	s.open("sale", 1, 10)
	asks := []rushgate.Ask{s.ask("sale", "u", 1), s.ask("sale", "u", 1)}
	out := s.codes(asks, rushgate.Granted, rushgate.LimitReached)
	s.has(out[1], asks[0].ID)
	s.counts("sale", 9, 1)
}

// has expects the claims that a decision names.
func (s *stage) has(d rushgate.Decision, want ...rushgate.ID) {
	s.t.Helper()
	if !slices.Equal(d.Has, want) {
		s.t.Fatalf("has %d, want %d", d.Has, want)
	}
}

func limitCountsUnits(s *stage) {
	sale := s.open("sale", 5, 0)
	s.load(sale, nil, rushgate.Stock{Item: "a", Total: 100}, rushgate.Stock{Item: "b", Total: 100})
	first := s.grant(s.ask("sale", "u", 3))
	s.has(s.want(rushgate.LimitReached, s.ask("sale", "u", 3)), first.ID)
	other := s.ask("sale", "u", 2)
	other.Item = "b"
	second := s.grant(other)
	s.has(s.want(rushgate.LimitReached, s.ask("sale", "u", 1)), first.ID, second.ID)
	s.grant(s.ask("sale", "v", 5))
	s.giveBack(first)
	third := s.grant(s.ask("sale", "u", 3))
	s.has(s.want(rushgate.LimitReached, s.ask("sale", "u", 1)), second.ID, third.ID)
}

func limitIsPerSale(s *stage) {
	s.open("one", 1, 10)
	s.open("two", 1, 10)
	s.grant(s.ask("one", "u", 1))
	s.grant(s.ask("two", "u", 1))
	s.want(rushgate.LimitReached, s.ask("one", "u", 1))
}

// Nobody may ever have so many, whether they are there or not.
func moreThanTheLimitAtOnce(s *stage) {
	s.open("sale", 2, 1)
	s.has(s.want(rushgate.LimitReached, s.ask("sale", "u", 3)))
	s.has(s.want(rushgate.LimitReached, s.ask("sale", "u", rushgate.MaxQuantity)))
	s.want(rushgate.SoldOut, s.ask("sale", "u", 2))
}

func noLimitNoSlot(s *stage) {
	s.open("sale", 0, 1000)
	for range 10 {
		if c := s.grant(s.ask("sale", "shop", 100)); c.Slot != rushgate.NoSlot {
			s.t.Fatalf("slot %d in a sale without a limit", c.Slot)
		}
	}
	s.want(rushgate.SoldOut, s.ask("sale", "shop", 1))
}

func lowestFreeSlot(s *stage) {
	s.open("sale", 5, 100)
	claims := make([]rushgate.Claim, 5)
	for i := range claims {
		claims[i] = s.inSlot(int32(i), "u")
	}
	s.giveBack(claims[3], claims[1])
	claims[1] = s.inSlot(1, "u")
	s.inSlot(0, "v")
	s.giveBack(claims[0])
	s.forget(claims[4])
	s.inSlot(0, "u")
	s.inSlot(3, "u")
	s.inSlot(4, "u")
	s.want(rushgate.LimitReached, s.ask("sale", "u", 1))
}

// inSlot expects a grant in a slot.
func (s *stage) inSlot(slot int32, user string) rushgate.Claim {
	s.t.Helper()
	c := s.grant(s.ask("sale", user, 1))
	if c.Slot != slot {
		s.t.Fatalf("%s got slot %d, want %d", user, c.Slot, slot)
	}
	return c
}

func severalSalesInOneBatch(s *stage) {
	s.open("one", 1, 1)
	s.open("two", 0, 2)
	frozen := s.open("three", 2, 9)
	frozen.Frozen = true
	s.put(frozen)
	asks := []rushgate.Ask{
		s.ask("one", "u", 1), s.ask("two", "u", 1), s.ask("none", "u", 1), s.ask("one", "v", 1),
		s.ask("three", "u", 1), s.ask("two", "u", 1), s.ask("two", "v", 1), s.ask("one", "u", 1),
	}
	s.codes(asks, rushgate.Granted, rushgate.Granted, rushgate.NotFound, rushgate.SoldOut,
		rushgate.Frozen, rushgate.Granted, rushgate.SoldOut, rushgate.LimitReached)
	s.counts("one", 0, 1)
	s.counts("two", 0, 2)
	s.counts("three", 9, 0)
}

// The first reason that holds is told: known key, no such item, closed, frozen,
// not open, limit, stock.
func refusalsInTheirOrder(s *stage) {
	hour := time.Hour
	for i, c := range []struct {
		want      rushgate.Code
		ended     bool
		frozen    bool
		opens     time.Duration // from now; 0: unset
		closes    time.Duration
		user, key string // "has": has the limit, made the claim
		item      string
		soldOut   bool
		quantity  int64
	}{
		{want: rushgate.Replayed, ended: true, frozen: true, opens: hour, user: "has", key: "has", soldOut: true},
		{want: rushgate.Replayed, key: "has", item: "none"},
		{want: rushgate.Replayed, user: "new", key: "has"},
		{want: rushgate.NotFound, ended: true, frozen: true, item: "none", soldOut: true},
		{want: rushgate.NotFound, user: "has", item: "none", key: "new"},
		{want: rushgate.Closed, ended: true, frozen: true, opens: hour, user: "has", soldOut: true, key: "new"},
		{want: rushgate.Closed, frozen: true, opens: -2 * hour, closes: -hour, user: "has", soldOut: true},
		{want: rushgate.Frozen, frozen: true, opens: hour, user: "has", soldOut: true},
		{want: rushgate.Frozen, frozen: true, opens: -hour, closes: hour},
		{want: rushgate.NotOpen, opens: hour, user: "has", soldOut: true, key: "new"},
		{want: rushgate.NotOpen, opens: hour, closes: 2 * hour},
		{want: rushgate.LimitReached, opens: -hour, closes: hour, user: "has", soldOut: true, key: "new"},
		{want: rushgate.LimitReached, quantity: 2, soldOut: true},
		{want: rushgate.SoldOut, opens: -hour, closes: hour, soldOut: true, key: "new"},
		{want: rushgate.Granted, opens: -hour, closes: hour, key: "new"},
	} {
		id := fmt.Sprintf("sale-%d", i)
		sale := s.open(id, 1, 2)
		s.grant(s.keyed(id, "has", 1, "has"))
		if c.soldOut {
			s.grant(s.ask(id, "takes the last", 1))
		}
		sale.Ended, sale.Frozen = c.ended, c.frozen
		if c.opens != 0 {
			sale.OpensAt = s.now.Add(c.opens)
		}
		if c.closes != 0 {
			sale.ClosesAt = s.now.Add(c.closes)
		}
		s.put(sale)
		before := s.count(id, "a")
		a := s.keyed(id, c.user, max(1, c.quantity), c.key)
		if a.User == "" {
			a.User = "new"
		}
		if c.item != "" {
			a.Item = c.item
		}
		s.want(c.want, a)
		if after := s.count(id, "a"); c.want != rushgate.Granted && after != before {
			s.t.Fatalf("%s took something: %+v, before %+v", c.want, after, before)
		}
	}
}

// An attempt whose answer got lost is repeated with its id: the same answer,
// and nothing is taken twice.
func sameAskAgain(s *stage) {
	for _, limit := range []int64{0, 1, 3} {
		sale := fmt.Sprintf("sale-%d", limit)
		s.open(sale, limit, 2)
		for _, key := range []string{"", "k"} {
			a := s.keyed(sale, "u"+key, 1, key)
			first, again := s.grant(a), s.claim(s.ask(sale, "w", 9), a)[1]
			if again.Code != rushgate.Granted || again.Slot != first.Slot {
				s.t.Fatalf("limit %d: again %+v, first slot %d", limit, again, first.Slot)
			}
		}
		s.counts(sale, 0, 2)
	}
}

// A negative quantity would be a restock by a buyer.
func outOfBoundsTakesNothing(s *stage) {
	s.open("sale", 0, 5)
	for _, quantity := range []int64{0, -1, -1 << 62, 1 << 62} {
		out := make([]rushgate.Decision, 1)
		err := s.gate.Claim(s.ctx, s.now, []rushgate.Ask{s.ask("sale", "u", quantity)}, out)
		if err == nil && out[0].Code == rushgate.Granted {
			s.t.Fatalf("granted a quantity of %d", quantity)
		}
		s.counts("sale", 5, 0)
	}
}

func doneContextTakesNothing(s *stage) {
	s.open("sale", 1, 5)
	done, cancel := context.WithCancel(s.ctx)
	cancel()
	out := make([]rushgate.Decision, 1)
	if err := s.gate.Claim(done, s.now, []rushgate.Ask{s.ask("sale", "u", 1)}, out); err != nil {
		s.counts("sale", 5, 0)
		s.grant(s.ask("sale", "u", 1))
	}
}

func slicesBelongToTheCaller(s *stage) {
	sale := s.open("sale", 2, 5)
	asks := []rushgate.Ask{s.keyed("sale", "u", 1, "k"), s.ask("sale", "u", 1)}
	out := s.codes(asks, rushgate.Granted, rushgate.Granted)
	first, second := asks[0].ID, asks[1].ID
	claims := []rushgate.Claim{claimOf(asks[0], out[0])}
	clear(asks)
	clear(out)
	s.settle(claims...)
	clear(claims)
	d := s.want(rushgate.LimitReached, s.ask("sale", "u", 1))
	s.has(d, first, second)
	clear(d.Has)
	s.has(s.want(rushgate.LimitReached, s.ask("sale", "u", 1)), first, second)
	sale.PerUser, sale.Frozen = 9, true // only Put may tell the gate
	s.want(rushgate.LimitReached, s.ask("sale", "u", 1))
	s.grant(s.ask("sale", "v", 1))
}
