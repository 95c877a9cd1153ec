package redis_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"rushgate"
	"rushgate/gate/redis"
)

// A loader that died keeps a sale closed for its lease, and no longer.
func TestALoaderThatDied(t *testing.T) {
	t.Parallel() // it waits more than it works
	opts := hasty(fresh())
	s := newShop(t, server.Server(t).URL(), opts, 1)
	s.load(10)
	c := raw(t, server.Server(t).Addr)
	key := opts.Prefix + "{sale.0}:loading"
	command(t, c, "SET", key, "99 somebody")
	s.want(rushgate.Unavailable, s.asks(2))
	if _, err := s.gate.Restock(t.Context(), &rushgate.Restock{Sale: "sale", Item: "a", Add: 1}); rushgate.CodeOf(err) != rushgate.Unavailable {
		t.Fatalf("a restock in the middle of a load: %v", err)
	}
	s.sale.Epoch++
	stale := rushgate.Snapshot{Sale: &s.sale, Claims: func(func(rushgate.Claim, error) bool) {}}
	if err := s.gate.Load(t.Context(), stale); err == nil {
		t.Fatal("a load took over from one of a higher epoch")
	}
	command(t, c, "PEXPIRE", key, "1")
	soon(t, "the sale opens again", func() bool { codes, _ := s.decide(s.asks(1)); return codes[rushgate.Granted] == 1 })
	command(t, c, "SET", key, "1 somebody else")
	s.load(7) // takes over from an older one
	s.free(7, 0)
}

// A load takes effect on one shard after the other. Whoever looks between has
// to wait, and finds nothing forgotten; unless the loader has died there.
func TestALookBetweenTwoSwitches(t *testing.T) {
	for shard := range 2 {
		t.Run(fmt.Sprintf("Shard%dIsLate", shard), func(t *testing.T) {
			t.Parallel() // it waits more than it works
			opts := hasty(fresh())
			opts.Poll = time.Minute
			s := newShop(t, server.Server(t).URL(), opts, 2)
			other := newShop(t, server.Server(t).URL(), opts, 2)
			s.load(10)
			other.want(rushgate.Granted, other.asks(4))
			c, late := raw(t, server.Server(t).Addr), fmt.Sprintf("%s{sale.%d}:loading", opts.Prefix, shard)
			s.sale.Epoch++
			snap := rushgate.Snapshot{Sale: &s.sale, Stock: []rushgate.Stock{{Item: "a", Total: 10}}}
			snap.Claims = func(func(rushgate.Claim, error) bool) { command(t, c, "SET", late, "2 slow 0") }
			if s.gate.Load(t.Context(), snap) == nil {
				t.Fatal("a load in which one shard was taken over went well")
			}
			_, err := other.gate.Mark(t.Context(), "sale")
			wantCode(t, err, rushgate.Unavailable)
			if n := other.count(redis.Forgotten); n != 0 {
				t.Fatalf("%d pictures count as forgotten", n)
			}
			command(t, c, "DEL", late)
			if m, err := other.gate.Mark(t.Context(), "sale"); err != nil || m != (rushgate.Mark{}) {
				t.Fatalf("the mark of half a picture: %+v, %v", m, err)
			}
			s.load(10)
			other.last = s.last + 1000
			other.want(rushgate.Granted, other.asks(10))
		})
	}
}

// A replica takes over in the middle of a load, and lacks what the master was
// sent last: what was loaded is not all, and does not become the picture.
func TestAServerThatForgotAPartOfALoad(t *testing.T) {
	c := raw(t, server.Server(t).Addr)
	for what, claims := range map[string]int{"and is sent more": 1001, "and is sent no more": 1000} {
		t.Run(what, func(t *testing.T) {
			opts := fresh()
			s := newShop(t, server.Server(t).URL(), opts, 1)
			s.load(2000)
			base := opts.Prefix + "{sale.0}:"
			state := []string{base + "loading", base + "holders:2", base + "keys:2"}
			s.sale.Epoch++
			snap := rushgate.Snapshot{Sale: &s.sale, Stock: []rushgate.Stock{{Item: "a", Total: 2000}}}
			snap.Claims = func(yield func(rushgate.Claim, error) bool) {
				for i := range claims {
					if i == 500 { // the first chunk is there
						for _, key := range state {
							command(t, c, "COPY", key, key+"'")
						}
					}
					if i == 1000 {
						restore(t, c, state)
					}
					n := 10_000 + i
					if !yield(rushgate.Claim{ID: rushgate.ID(n), Sale: "sale", Item: "a", User: fmt.Sprint("user ", n), Quantity: 1,
						State: rushgate.Held, Key: fmt.Sprint(n)}, nil) {
						return
					}
				}
				if claims == 1000 {
					restore(t, c, state)
				}
			}
			if err := s.gate.Load(t.Context(), snap); rushgate.CodeOf(err) != rushgate.Forgot {
				t.Fatalf("half a load: %v", err)
			}
			s.free(2000, 0) // the picture that was
			s.load(2000)
			s.want(rushgate.Granted, s.asks(3))
		})
	}
}

// The same, and it lacks that the load took effect.
func TestAServerThatForgotTheSwitchOfALoad(t *testing.T) {
	c := raw(t, server.Server(t).Addr)
	opts := fresh()
	control := []string{opts.Prefix + "{sale.0}:control"}
	forgets := false
	s := &shop{t: t, last: 1000, sale: rushgate.Sale{ID: "sale", PerUser: 1, Version: 1}}
	var err error
	s.gate, err = redis.OpenWatched(t.Context(), server.Server(t).URL(), opts, func() {
		if forgets {
			restore(t, c, control)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	defer s.gate.Close()
	s.load(10)
	command(t, c, "COPY", control[0], control[0]+"'")
	forgets = true
	s.sale.Epoch++
	snap := rushgate.Snapshot{Sale: &s.sale, Stock: []rushgate.Stock{{Item: "a", Total: 20}}, Claims: func(func(rushgate.Claim, error) bool) {}}
	if err := s.gate.Load(t.Context(), snap); !errors.Is(err, rushgate.ErrStale) {
		t.Fatalf("a load that did not take effect: %v", err)
	}
	forgets = false
	s.want(rushgate.Forgot, s.asks(1))
	s.load(10)
	s.want(rushgate.Granted, s.asks(10))
}

// restore gives a server back what it had when its keys were copied.
func restore(t *testing.T, c rueidis.Client, keys []string) {
	t.Helper()
	for _, key := range keys {
		command(t, c, "COPY", key+"'", key, "REPLACE")
	}
}
