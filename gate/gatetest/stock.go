package gatetest

import (
	"fmt"
	"math"

	"rushgate"
)

func stock() []scene {
	return []scene{
		{"NegativeStockNeverHappens", negativeStockNeverHappens},
		{"EmptyThenRestockStartsFromZero", emptyThenRestock},
		{"RestockTakesFreeUnitsOnly", restockTakesFreeUnitsOnly},
		{"RestockBeyondBounds", restockBeyondBounds},
		{"ReturnGivesUnitAndSlot", returnGivesUnitAndSlot},
		{"ReturnTwiceGivesOnce", returnTwiceGivesOnce},
		{"ReturnOfStrangersGivesNothing", returnOfStrangers},
		{"ReturnGivesWhatWasTaken", returnGivesWhatWasTaken},
		{"ForgetIsAsIfItHadNeverBeen", forgetIsAsIfNever},
		{"UnsettledUntilRecorded", unsettledUntilRecorded},
		{"AShopWithManyClaims", shopWithManyClaims},
	}
}

func negativeStockNeverHappens(s *stage) {
	for _, limit := range []int64{0, 1} {
		sale := fmt.Sprintf("sale-%d", limit)
		s.open(sale, limit, 1)
		c := s.grant(s.ask(sale, "u", 1))
		for i := range 20 {
			s.want(rushgate.SoldOut, s.ask(sale, fmt.Sprint("v", i), 1))
		}
		s.restock(sale, -1, false)
		s.counts(sale, 0, 1)
		s.giveBack(c)
		s.counts(sale, 1, 0)
	}
}

// Refusals that each take a unit below zero leave a debt that eats the restock.
func emptyThenRestock(s *stage) {
	s.open("sale", 0, 2)
	for range 10 {
		s.claim(s.ask("sale", "u", 1), s.ask("sale", "v", 3))
	}
	s.counts("sale", 0, 2)
	s.restock("sale", 3, true)
	s.counts("sale", 3, 2)
	for range 3 {
		s.grant(s.ask("sale", "u", 1))
	}
	s.want(rushgate.SoldOut, s.ask("sale", "u", 1))
}

func restockTakesFreeUnitsOnly(s *stage) {
	s.open("sale", 0, 10)
	c := s.grant(s.ask("sale", "u", 4))
	s.restock("sale", -7, false)
	s.counts("sale", 6, 4)
	s.restock("sale", -6, true)
	s.counts("sale", 0, 4)
	s.restock("sale", -1, false)
	s.want(rushgate.SoldOut, s.ask("sale", "u", 1))
	s.giveBack(c)
	s.counts("sale", 4, 0)
	s.restock("sale", 5, true)
	s.counts("sale", 9, 0)
}

// An overflow would make a debt out of a gift.
func restockBeyondBounds(s *stage) {
	s.open("sale", 0, 10)
	for _, add := range []int64{math.MinInt64, -rushgate.MaxStock - 1, math.MaxInt64, rushgate.MaxStock} {
		if enough, err := s.gate.Restock(s.ctx, &rushgate.Restock{Sale: "sale", Item: "a", Add: add, Epoch: s.epochs["sale"]}); enough && err == nil {
			s.t.Fatalf("restocked by %d", add)
		}
		s.counts("sale", 10, 0)
	}
}

func returnGivesUnitAndSlot(s *stage) {
	s.open("sale", 1, 1)
	for range 5 {
		c := s.inSlot(0, "u")
		s.want(rushgate.LimitReached, s.ask("sale", "u", 1))
		s.want(rushgate.SoldOut, s.ask("sale", "v", 1))
		s.settle(c)
		s.giveBack(c)
		s.counts("sale", 1, 0)
	}
	s.inSlot(0, "v")
}

func returnTwiceGivesOnce(s *stage) {
	for _, limit := range []int64{0, 1, 4} {
		sale := fmt.Sprintf("sale-%d", limit)
		s.open(sale, limit, 10)
		c := s.grant(s.ask(sale, "u", 1))
		s.settle(c)
		s.giveBack(c, c)
		s.giveBack(c)
		s.counts(sale, 10, 0)
		again := s.grant(s.ask(sale, "u", 1)) // the late return must not hit this one
		s.giveBack(c)
		s.forget(c)
		s.settle(c)
		s.counts(sale, 9, 1)
		s.giveBack(again)
		s.counts(sale, 10, 0)
	}
}

func returnOfStrangers(s *stage) {
	for _, limit := range []int64{0, 2} {
		sale := fmt.Sprintf("sale-%d", limit)
		other := sale + "-other"
		s.open(sale, limit, 10)
		s.open(other, limit, 10)
		c := s.grant(s.ask(sale, "u", 2))
		unknown, elsewhere := c, c
		unknown.ID++
		elsewhere.Sale = other
		s.settle(unknown, elsewhere)
		s.giveBack(unknown, elsewhere)
		s.forget(unknown, elsewhere)
		s.counts(sale, 8, 2)
		s.counts(other, 10, 0)
	}
}

// The gate goes by what it granted, not by what a caller says later.
func returnGivesWhatWasTaken(s *stage) {
	for _, limit := range []int64{0, 9} {
		sale := fmt.Sprintf("sale-%d", limit)
		s.open(sale, limit, 10)
		c := s.grant(s.ask(sale, "u", 3))
		c.Quantity = 7
		s.giveBack(c)
		s.counts(sale, 10, 0)
	}
}

func forgetIsAsIfNever(s *stage) {
	for _, limit := range []int64{0, 1, 2} {
		sale := fmt.Sprintf("sale-%d", limit)
		s.open(sale, limit, 2)
		a, b := s.keyed(sale, "u", 1, "k"), s.keyed(sale, "v", 1, "l")
		out := s.codes([]rushgate.Ask{a, b}, rushgate.Granted, rushgate.Granted)
		s.forget(claimOf(a, out[0]), claimOf(b, out[1]))
		s.forget(claimOf(a, out[0]))
		s.counts(sale, 2, 0)
		s.codes([]rushgate.Ask{a, b}, rushgate.Granted, rushgate.Granted)
		s.counts(sale, 0, 2)
	}
}

func unsettledUntilRecorded(s *stage) {
	for _, limit := range []int64{0, 1, 9} {
		sale := fmt.Sprintf("sale-%d", limit)
		s.open(sale, limit, 10)
		var claims []rushgate.Claim
		for i := range 4 {
			claims = append(claims, s.grant(s.ask(sale, fmt.Sprint("u", i), 1)))
		}
		s.counts(sale, 6, 4)
		s.settle(claims[:2]...)
		s.settle(claims[0])
		s.counts(sale, 6, 2)
		s.giveBack(claims[0], claims[2]) // a settled one, and one that was not
		s.counts(sale, 8, 1)
		s.forget(claims[1], claims[3])
		if s.shared() {
			s.counts(sale, 9, 0) // the settled one is recorded, whoever thinks otherwise
			continue
		}
		s.counts(sale, 10, 0)
	}
}

// One user may have thousands of claims, in a sale without a limit and in one
// with a high limit; giving them back in any order stays exact.
func shopWithManyClaims(s *stage) {
	const n = 2000
	for _, limit := range []int64{0, n} {
		sale := fmt.Sprintf("sale-%d", limit)
		s.open(sale, limit, n+1)
		asks := make([]rushgate.Ask, n)
		for i := range asks {
			asks[i] = s.ask(sale, "shop", 1)
		}
		out := s.claim(asks...)
		claims := make([]rushgate.Claim, n)
		for i := range asks {
			claims[i] = claimOf(asks[(i*7)%n], out[(i*7)%n])
		}
		s.counts(sale, 1, n)
		s.settle(claims...)
		s.giveBack(claims[:n/2]...)
		s.giveBack(claims...)
		s.counts(sale, n+1, 0)
		s.grant(s.ask(sale, "shop", 1))
	}
}
