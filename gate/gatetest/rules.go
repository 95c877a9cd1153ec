package gatetest

import (
	"fmt"
	"time"

	"rushgate"
)

func rules() []scene {
	return []scene{
		{"RequestBeforeOpeningTakesNothing", requestBeforeOpening},
		{"WindowEdges", windowEdges},
		{"NothingGrantedAfterFreeze", nothingGrantedAfterFreeze},
		{"NothingGrantedAfterClose", nothingGrantedAfterClose},
		{"PutKeepsStockAndHoldings", putKeepsStockAndHoldings},
		{"LowerAndHigherLimit", lowerAndHigherLimit},
		{"NoneToSomeNeedsALoad", noneToSomeNeedsALoad},
		{"UnknownSale", unknownSale},
	}
}

func requestBeforeOpening(s *stage) {
	sale := s.open("sale", 1, 5)
	sale.OpensAt = s.now.Add(time.Hour)
	s.put(sale)
	for i := range 7 {
		s.want(rushgate.NotOpen, s.keyed("sale", fmt.Sprint("u", i), 1, fmt.Sprint("k", i)))
	}
	s.counts("sale", 5, 0)
	sale.OpensAt = s.now.Add(-time.Hour)
	s.put(sale)
	for i := range 5 { // neither a user nor a key was used up
		s.grant(s.keyed("sale", fmt.Sprint("u", i), 1, fmt.Sprint("k", i)))
	}
}

// The window is [opens_at, closes_at).
func windowEdges(s *stage) {
	if s.f.OwnClock {
		return // its moments cannot be chosen; the other cases stay an hour clear of them
	}
	sale := s.open("sale", 0, 100)
	sale.OpensAt, sale.ClosesAt = s.now, s.now.Add(time.Minute)
	s.put(sale)
	for _, c := range []struct {
		at   time.Duration
		want rushgate.Code
	}{
		{-1, rushgate.NotOpen}, {0, rushgate.Granted}, {1, rushgate.Granted},
		{time.Minute - 1, rushgate.Granted}, {time.Minute, rushgate.Closed}, {time.Hour, rushgate.Closed},
		{-time.Hour, rushgate.NotOpen}, // a clock that was set back: no memory of having been closed
	} {
		s.now = sale.OpensAt.Add(c.at)
		s.want(c.want, s.ask("sale", "u", 1))
	}
}

// When Put has returned, the very next ask obeys.
func nothingGrantedAfterFreeze(s *stage) {
	sale := s.open("sale", 1, 100)
	for round := range 5 {
		asks := []rushgate.Ask{s.ask("sale", fmt.Sprint("u", round), 1), s.ask("sale", fmt.Sprint("v", round), 1)}
		s.codes(asks, rushgate.Granted, rushgate.Granted)
		sale.Frozen = true
		s.put(sale)
		asks = []rushgate.Ask{s.ask("sale", fmt.Sprint("w", round), 1), s.ask("sale", fmt.Sprint("x", round), 1)}
		s.codes(asks, rushgate.Frozen, rushgate.Frozen)
		sale.Frozen = false
		s.put(sale)
	}
	s.counts("sale", 90, 10)
}

func nothingGrantedAfterClose(s *stage) {
	sale := s.open("sale", 0, 100)
	c := s.grant(s.ask("sale", "u", 1))
	sale.Ended = true
	s.put(sale)
	s.want(rushgate.Closed, s.ask("sale", "u", 1))
	s.giveBack(c) // claims still end
	s.counts("sale", 100, 0)
	s.restock("sale", 5, true)
	s.want(rushgate.Closed, s.ask("sale", "u", 1))
}

func putKeepsStockAndHoldings(s *stage) {
	sale := s.open("sale", 1, 3)
	c := s.grant(s.keyed("sale", "u", 1, "k"))
	sale.Name, sale.Items[0].Stock = "new", 1000
	s.put(sale)
	s.counts("sale", 2, 1)
	s.has(s.want(rushgate.LimitReached, s.ask("sale", "u", 1)), c.ID)
	s.replay(c.ID, s.keyed("sale", "u", 1, "k"))
	s.settle(c)
	s.counts("sale", 2, 0)
}

func lowerAndHigherLimit(s *stage) {
	sale := s.open("sale", 3, 100)
	first, second := s.grant(s.ask("sale", "u", 1)), s.grant(s.ask("sale", "u", 2))
	sale.PerUser = 1
	s.put(sale)
	s.has(s.want(rushgate.LimitReached, s.ask("sale", "u", 1)), first.ID, second.ID)
	s.giveBack(first)
	s.has(s.want(rushgate.LimitReached, s.ask("sale", "u", 1)), second.ID)
	sale.PerUser = 4
	s.put(sale)
	s.inSlot(0, "u")
	s.inSlot(2, "u")
	s.want(rushgate.LimitReached, s.ask("sale", "u", 1))
}

func noneToSomeNeedsALoad(s *stage) {
	for _, limits := range [][2]int64{{0, 1}, {1, 0}} {
		id := fmt.Sprintf("sale-%d", limits[0])
		sale := s.open(id, limits[0], 5)
		c := s.grant(s.ask(id, "u", 1))
		s.settle(c)
		sale.PerUser = limits[1]
		sale.Version++
		if s.gate.Put(s.ctx, &rushgate.Put{Sale: sale}) == nil {
			s.t.Fatalf("a limit changed from %d to %d without a load", limits[0], limits[1])
		}
		s.counts(id, 4, 0)
		s.load(sale, []rushgate.Claim{c}, rushgate.Stock{Item: "a", Total: 5, Taken: 1})
		if limits[1] == 0 {
			s.grant(s.ask(id, "u", 4))
			continue
		}
		// The claim has no slot from the time without a limit; it counts.
		s.has(s.want(rushgate.LimitReached, s.ask(id, "u", 1)), c.ID)
		s.giveBack(c)
		s.grant(s.ask(id, "u", 1))
		s.counts(id, 4, 1)
	}
}

// A sale that the gate does not know takes nothing and breaks nothing.
func unknownSale(s *stage) {
	s.open("sale", 1, 5)
	if s.gate.Put(s.ctx, &rushgate.Put{Sale: &rushgate.Sale{ID: "none"}}) == nil {
		s.t.Fatalf("put an unknown sale")
	}
	if _, err := s.gate.Count(s.ctx, "none"); err == nil {
		s.t.Fatalf("counted an unknown sale")
	}
	for _, of := range [][2]string{{"none", "a"}, {"sale", "none"}} {
		if enough, err := s.gate.Restock(s.ctx, &rushgate.Restock{Sale: of[0], Item: of[1], Add: 1, Epoch: 1}); err == nil || enough {
			s.t.Fatalf("restocked %s", of)
		}
	}
	s.want(rushgate.NotFound, s.keyed("none", "u", 1, "k"))
	stray := rushgate.Claim{ID: 7, Sale: "none", Item: "a", User: "u", Quantity: 1, State: rushgate.Held}
	s.settle(stray)
	s.giveBack(stray)
	s.forget(stray)
	s.counts("sale", 5, 0)
}
