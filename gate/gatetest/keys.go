package gatetest

import "rushgate"

func keys() []scene {
	return []scene{
		{"TwiceInOneBatch", keyTwiceInOneBatch},
		{"InTheNextBatch", keyInTheNextBatch},
		{"OfAReleasedClaimStillTells", keyOfReleased},
		{"OfAForgottenClaimIsFree", keyOfForgotten},
		{"OfARefusalIsFree", keyOfRefusal},
		{"BeforeEveryRefusal", keyBeforeEveryRefusal},
		{"PerSale", keyPerSale},
		{"ForgetTakesItsOwnKeyOnly", forgetTakesItsOwnKeyOnly},
	}
}

// replay expects the claim that a key made.
func (s *stage) replay(prior rushgate.ID, a rushgate.Ask) {
	s.t.Helper()
	if d := s.want(rushgate.Replayed, a); d.Prior != prior {
		s.t.Fatalf("replayed %d, want %d", d.Prior, prior)
	}
}

func keyTwiceInOneBatch(s *stage) {
	s.open("sale", 0, 10)
	asks := []rushgate.Ask{s.keyed("sale", "u", 1, "k"), s.keyed("sale", "u", 1, "k"), s.keyed("sale", "u", 1, "l")}
	out := s.codes(asks, rushgate.Granted, rushgate.Replayed, rushgate.Granted)
	if out[1].Prior != asks[0].ID {
		s.t.Fatalf("replayed %d, want %d", out[1].Prior, asks[0].ID)
	}
	s.counts("sale", 8, 2)
}

func keyInTheNextBatch(s *stage) {
	s.open("sale", 2, 10)
	c := s.grant(s.keyed("sale", "u", 1, "k"))
	s.replay(c.ID, s.keyed("sale", "u", 1, "k"))
	if s.f.Shards <= 1 { // a shard knows the keys of its own users
		s.replay(c.ID, s.keyed("sale", "somebody else", 2, "k"))
	}
	s.counts("sale", 9, 1)
}

func keyOfReleased(s *stage) {
	s.open("sale", 1, 1)
	c := s.grant(s.keyed("sale", "u", 1, "k"))
	s.settle(c)
	s.giveBack(c)
	s.replay(c.ID, s.keyed("sale", "u", 1, "k"))
	s.counts("sale", 1, 0)
}

func keyOfForgotten(s *stage) {
	for _, limit := range []int64{0, 1} {
		sale := []string{"none", "one"}[limit]
		s.open(sale, limit, 1)
		s.forget(s.grant(s.keyed(sale, "u", 1, "k")))
		s.counts(sale, 1, 0)
		c := s.grant(s.keyed(sale, "u", 1, "k"))
		s.giveBack(c)
		s.forget(c)
		if s.shared() {
			s.replay(c.ID, s.keyed(sale, "u", 1, "k")) // it was recorded, or it had not ended
			continue
		}
		s.grant(s.keyed(sale, "v", 1, "k"))
	}
}

func keyOfRefusal(s *stage) {
	s.open("sale", 1, 0)
	s.want(rushgate.SoldOut, s.keyed("sale", "u", 1, "k"))
	s.restock("sale", 1, true)
	s.grant(s.keyed("sale", "u", 1, "k"))
}

// The claim was made; that the sale is over by now does not undo it.
func keyBeforeEveryRefusal(s *stage) {
	sale := s.open("sale", 1, 1)
	c := s.grant(s.keyed("sale", "u", 1, "k"))
	s.replay(c.ID, s.keyed("sale", "u", 1, "k"))
	sale.Frozen = true
	s.put(sale)
	s.replay(c.ID, s.keyed("sale", "u", 1, "k"))
	sale.Ended = true
	s.put(sale)
	s.replay(c.ID, s.keyed("sale", "u", 1, "k"))
	if s.f.Shards <= 1 {
		s.replay(c.ID, s.keyed("sale", "v", 7, "k"))
	}
}

func keyPerSale(s *stage) {
	s.open("one", 1, 1)
	s.open("two", 1, 1)
	one, two := s.grant(s.keyed("one", "u", 1, "k")), s.grant(s.keyed("two", "u", 1, "k"))
	s.replay(one.ID, s.keyed("one", "u", 1, "k"))
	s.replay(two.ID, s.keyed("two", "u", 1, "k"))
}

func forgetTakesItsOwnKeyOnly(s *stage) {
	s.open("sale", 0, 5)
	lost := s.grant(s.keyed("sale", "u", 1, "k"))
	s.forget(lost)
	kept := s.grant(s.keyed("sale", "u", 1, "k"))
	s.forget(lost) // once more, late
	s.replay(kept.ID, s.keyed("sale", "u", 1, "k"))
	s.counts("sale", 4, 1)
}
