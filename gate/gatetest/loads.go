package gatetest

import (
	"errors"
	"fmt"

	"rushgate"
)

func loads() []scene {
	return []scene{
		{"ReplacesEverything", loadReplacesEverything},
		{"FailedLeavesTheOldState", failedLoadLeavesTheOldState},
		{"KnowsUsersKeysAndSlots", loadKnowsUsersKeysAndSlots},
		{"MoreTakenThanThereIsNeverGrants", moreTakenThanThereIs},
		{"ClaimsWeighMoreThanTheirCount", claimsWeighMoreThanTheirCount},
		{"LeavesOtherSalesAlone", loadLeavesOtherSalesAlone},
		{"AnEmptySale", func(s *stage) { s.open("sale", 1, 0); s.want(rushgate.SoldOut, s.ask("sale", "u", 1)) }},
	}
}

func loadReplacesEverything(s *stage) {
	for _, limit := range []int64{0, 1} {
		id := fmt.Sprintf("sale-%d", limit)
		sale := s.open(id, limit, 1)
		c := s.grant(s.keyed(id, "u", 1, "k"))
		sale.Items[0].ID = "b"
		s.load(sale, nil, rushgate.Stock{Item: "b", Total: 7})
		s.want(rushgate.NotFound, s.ask(id, "u", 1))
		s.settle(c)
		s.giveBack(c)
		if got := s.count(id, "b"); got.Free != 7 || got.Unsettled != 0 {
			s.t.Fatalf("after the load: %+v", got)
		}
		a := s.keyed(id, "u", 1, "k")
		a.Item = "b"
		s.grant(a)
	}
}

func failedLoadLeavesTheOldState(s *stage) {
	sale := s.open("sale", 1, 5)
	kept := s.grant(s.keyed("sale", "u", 1, "k"))
	broken := errors.New("the ledger went away")
	s.fence(sale)
	snap := snapshot(sale, nil, rushgate.Stock{Item: "a", Total: 100, Taken: 2})
	snap.Claims = func(yield func(rushgate.Claim, error) bool) {
		c := rushgate.Claim{ID: 1, Sale: "sale", Item: "a", User: "x", Quantity: 1, State: rushgate.Held, Key: "x"}
		if yield(c, nil) {
			yield(rushgate.Claim{}, broken)
		}
	}
	if err := s.gate.Load(s.ctx, snap); !errors.Is(err, broken) {
		s.t.Fatalf("load says %v, want the error of the snapshot", err)
	}
	s.counts("sale", 4, 1)
	s.has(s.want(rushgate.LimitReached, s.ask("sale", "u", 1)), kept.ID)
	s.replay(kept.ID, s.keyed("sale", "u", 1, "k"))
	s.grant(s.keyed("sale", "x", 1, "x"))
	snap.Sale = &rushgate.Sale{ID: "never", PerUser: 1, Epoch: 1, Shards: 1}
	if s.gate.Load(s.ctx, snap) == nil {
		s.t.Fatalf("loaded a broken snapshot")
	}
	s.want(rushgate.NotFound, s.ask("never", "u", 1))
}

func loadKnowsUsersKeysAndSlots(s *stage) {
	sale := s.open("sale", 4, 10)
	claim := func(id rushgate.ID, user string, slot int32, state rushgate.State, key string) rushgate.Claim {
		return rushgate.Claim{ID: id, Sale: "sale", Item: "a", User: user, Quantity: 1, Slot: slot, State: state, Key: key}
	}
	claims := []rushgate.Claim{
		claim(5, "u", 2, rushgate.Held, "k5"),
		claim(3, "u", 1, rushgate.Confirmed, ""),
		claim(4, "v", rushgate.NoSlot, rushgate.Released, "k4"),
		claim(6, "w", rushgate.NoSlot, rushgate.ExpiredState, "k6"),
		claim(7, "x", 1, rushgate.Held, ""),
	}
	s.load(sale, claims, rushgate.Stock{Item: "a", Total: 10, Taken: 3, Confirmed: 1})
	s.counts("sale", 7, 0)
	by := map[rushgate.ID]string{4: "v", 5: "u", 6: "w"}
	for key, id := range map[string]rushgate.ID{"k4": 4, "k5": 5, "k6": 6} {
		s.replay(id, s.keyed("sale", by[id], 1, key))
	}
	zero := s.inSlot(0, "u")
	three := s.inSlot(3, "u")
	s.has(s.want(rushgate.LimitReached, s.ask("sale", "u", 1)), 3, 5, zero.ID, three.ID)
	s.inSlot(0, "v")
	s.inSlot(0, "x")
	s.inSlot(2, "x")
	s.giveBack(claims[1])
	s.inSlot(1, "u")
	s.giveBack(claims[2], claims[3]) // ended ones hold nothing
	s.counts("sale", 2, 6)
}

// Such a ledger does not exist; if it does, the gate is not the one to sell more.
func moreTakenThanThereIs(s *stage) {
	if s.f.Shards > 1 {
		return // every shard waits until it has got back what is missing: that is less than there is
	}
	for _, limit := range []int64{0, 1} {
		id := fmt.Sprintf("sale-%d", limit)
		sale := s.open(id, limit, 2)
		var claims []rushgate.Claim
		for i := range 5 {
			claims = append(claims, rushgate.Claim{ID: rushgate.ID(i + 1), Sale: id, Item: "a",
				User: fmt.Sprint("u", i), Quantity: 1, State: rushgate.Held})
		}
		s.load(sale, claims, rushgate.Stock{Item: "a", Total: 2, Taken: 5})
		s.want(rushgate.SoldOut, s.ask(id, "new", 1))
		s.restock(id, -1, false)
		s.giveBack(claims[:3]...) // still all that there is
		s.want(rushgate.SoldOut, s.ask(id, "new", 1))
		s.giveBack(claims[3])
		s.grant(s.ask(id, "new", 1))
		s.want(rushgate.SoldOut, s.ask(id, "newer", 1))
	}
}

func claimsWeighMoreThanTheirCount(s *stage) {
	sale := s.open("sale", 0, 2)
	claims := []rushgate.Claim{{ID: 1, Sale: "sale", Item: "a", User: "u", Quantity: 2, State: rushgate.Held}}
	s.load(sale, claims, rushgate.Stock{Item: "a", Total: 2, Taken: 1})
	s.want(rushgate.SoldOut, s.ask("sale", "u", 1))
	s.giveBack(claims...)
	s.counts("sale", 2, 0)
}

func loadLeavesOtherSalesAlone(s *stage) {
	s.open("one", 1, 5)
	c := s.grant(s.keyed("one", "u", 1, "k"))
	s.open("two", 0, 5)
	s.counts("one", 4, 1)
	s.has(s.want(rushgate.LimitReached, s.ask("one", "u", 1)), c.ID)
	s.replay(c.ID, s.keyed("one", "u", 1, "k"))
}
