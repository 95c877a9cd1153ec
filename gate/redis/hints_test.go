package redis_test

import (
	"fmt"
	"testing"
	"time"

	"rushgate"
	"rushgate/internal/testenv"
)

// peeks asks a gate without having it asked in Redis.
func (s *shop) peeks(now time.Time) rushgate.Code {
	a := s.asks(1)[0]
	return s.gate.Peek(now, &a)
}

// A node that has only looked at a sale knows no better than its look how the
// clocks stand: what is nearer to the window's edge than that, Redis decides.
func TestTheEdgeOfAWindowIsRedisToJudge(t *testing.T) {
	for _, shards := range []int{1, 2} {
		opts := fresh()
		opts.Poll = time.Minute
		s := newShop(t, server.Server(t).URL(), opts, shards)
		other := newShop(t, server.Server(t).URL(), opts, shards)
		s.sale.OpensAt, s.sale.ClosesAt = time.Now().Add(time.Hour), time.Now().Add(2*time.Hour)
		s.load(10)
		if _, err := other.gate.Count(t.Context(), "sale"); err != nil {
			t.Fatal(err)
		}
		const far = time.Minute // beyond any doubt
		opens, closes := time.UnixMilli(s.sale.OpensAt.UnixMilli()), time.UnixMilli(s.sale.ClosesAt.UnixMilli())
		for _, c := range []struct {
			now  time.Time
			want rushgate.Code
		}{
			{opens.Add(-far), rushgate.NotOpen}, {opens.Add(-1), rushgate.Granted}, {opens.Add(far), rushgate.Granted},
			{closes.Add(-far), rushgate.Granted}, {closes, rushgate.Granted}, {closes.Add(far), rushgate.Closed},
		} {
			for _, at := range []*shop{s, other} {
				if got := at.peeks(c.now); got != c.want {
					t.Fatalf("%d shards, %s after the opening: %s, want %s", shards, c.now.Sub(opens), got, c.want)
				}
			}
		}
	}
}

// A node that hears nothing of a sale any more refuses nobody by what it heard last.
func TestHintsAreDroppedWhenRedisIsNotHeard(t *testing.T) {
	t.Parallel() // it waits more than it works
	opts := fresh()
	s := newShop(t, server.Server(t).URL(), opts, 2)
	s.load(1)
	proxy := testenv.NewProxy(t, server.Server(t).Addr)
	opts.Timeout, opts.Patience = 500*time.Millisecond, 3*time.Second
	away := newShop(t, "redis://"+proxy.Addr, opts, 2)
	s.want(rushgate.Granted, s.asks(1))
	away.last = 1_000_000
	away.want(rushgate.SoldOut, away.asks(1))
	soon(t, "the node refuses by itself", func() bool { return away.peeks(time.Now()) == rushgate.SoldOut })
	proxy.Swallow(testenv.Both)
	if _, err := s.gate.Restock(t.Context(), &rushgate.Restock{Sale: "sale", Item: "a", Add: 1}); err != nil {
		t.Fatal(err)
	}
	soon(t, "the node refuses nobody", func() bool { return away.peeks(time.Now()) == rushgate.Granted })
	away.want(rushgate.Unavailable, away.asks(1))
	if err := proxy.Heal(); err != nil {
		t.Fatal(err)
	}
	soon(t, "the node sells again", func() bool { codes, _ := away.decide(away.asks(1)); return codes[rushgate.Granted] == 1 })
	soon(t, "and refuses again", func() bool { return away.peeks(time.Now()) == rushgate.SoldOut })
}

// Reading everybody who has something takes longer than one exchange may.
func TestEverybodyIsReadOfALargeSale(t *testing.T) {
	t.Parallel() // it waits more than it works
	const people = 6000
	opts := fresh()
	s := newShop(t, server.Server(t).URL(), opts, 1)
	s.load(people)
	for range 6 {
		s.want(rushgate.Granted, s.asks(people/6))
	}
	proxy := testenv.NewProxy(t, server.Server(t).Addr)
	opts.Timeout, opts.Poll = 600*time.Millisecond, 20*time.Millisecond // repeated for as long as it takes
	away := newShop(t, "redis://"+proxy.Addr, opts, 1)
	away.last = 1_000_000
	proxy.Delay(testenv.ToClient, 150*time.Millisecond) // a page
	away.want(rushgate.SoldOut, away.asks(1))
	soon(t, "the node knows everybody, and refuses others by itself", func() bool { return away.peeks(time.Now()) == rushgate.SoldOut })
	again := rushgate.Ask{ID: 1, Sale: "sale", Item: "a", User: fmt.Sprint("user ", s.last), Quantity: 1}
	if got := away.gate.Peek(time.Now(), &again); got != rushgate.Granted {
		t.Fatalf("a claim is hidden: %s", got)
	}
}
