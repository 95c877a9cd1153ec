// Package gatetest is what every gate must pass: the contract of rushgate.Gate
// sentence by sentence, what other systems got wrong, random histories held
// against rushgate.Model, and a storm of goroutines. It uses the port alone, so
// a gate may be in this process or far away. Bench measures any gate alike.
package gatetest

import (
	"context"
	"slices"
	"testing"
	"time"

	"rushgate"
)

// Factory makes the gates of a suite.
type Factory struct {
	// New returns a gate that knows no sale. The suite closes it. A gate that
	// shares a server with others keeps its sales apart from theirs.
	New func(tb testing.TB) rushgate.Gate

	// OwnClock says that the gate goes by a clock of its own, near the real
	// time, and not by the moments that it is given. Windows then lie an hour
	// around the present, and their exact edges are not tested.
	OwnClock bool

	// Shards is into how many parts the suite has sales divided; 0 means 1.
	Shards int
}

// Run runs the suite.
func Run(t *testing.T, f Factory) {
	parts := []struct {
		name  string
		cases []scene
	}{
		{"Decisions", decisions()},
		{"Keys", keys()},
		{"Rules", rules()},
		{"Stock", stock()},
		{"Load", loads()},
	}
	for _, part := range parts {
		t.Run(part.name, func(t *testing.T) {
			for _, c := range part.cases {
				t.Run(c.name, func(t *testing.T) { c.play(newStage(t, f)) })
			}
		})
	}
	t.Run("Histories", func(t *testing.T) { histories(t, f) })
	t.Run("Storm", func(t *testing.T) { storm(t, f) })
}

// scene is one case of the suite.
type scene struct {
	name string
	play func(s *stage)
}

// failer is what testing.T and rapid.T have in common and a stage needs.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

// stage is a gate with somebody in front of it who knows what to expect.
type stage struct {
	t    failer
	ctx  context.Context
	f    Factory
	gate rushgate.Gate
	now  time.Time   // the moment of the next call
	last rushgate.ID // of the last ask

	epochs map[string]int64 // of each sale's latest load
}

func newStage(t *testing.T, f Factory) *stage {
	t.Helper()
	s := &stage{t: t, ctx: t.Context(), f: f, gate: f.New(t), now: f.start(), last: 1000, epochs: map[string]int64{}}
	t.Cleanup(func() {
		if err := s.gate.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

// start is the moment at which a case begins.
func (f Factory) start() time.Time {
	if f.OwnClock {
		return time.Now()
	}
	return time.Date(2026, 11, 11, 0, 0, 0, 0, time.UTC)
}

// shared says that the gate is used by several nodes: it forgets only what waits
// in its journal.
func (s *stage) shared() bool {
	_, shared := s.gate.(rushgate.Shared)
	return shared
}

// ok fails the test on an error.
func (s *stage) ok(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatalf("unexpected error: %v", err)
	}
}

// open loads a new sale of one item "a" with so much stock. A limit of 0 is none.
func (s *stage) open(id string, perUser, stock int64) *rushgate.Sale {
	s.t.Helper()
	sale := &rushgate.Sale{ID: id, Name: id, PerUser: perUser, Ack: rushgate.Recorded, Version: 1, Shards: max(1, s.f.Shards),
		Items: []rushgate.Item{{ID: "a", Name: "A", Stock: stock}}}
	s.load(sale, nil, rushgate.Stock{Item: "a", Total: stock})
	return sale
}

// load loads a snapshot under the next epoch, as the ledger would hand it out.
func (s *stage) load(sale *rushgate.Sale, claims []rushgate.Claim, stock ...rushgate.Stock) {
	s.t.Helper()
	s.fence(sale)
	s.ok(s.gate.Load(s.ctx, snapshot(sale, claims, stock...)))
}

// fence gives a sale the next epoch.
func (s *stage) fence(sale *rushgate.Sale) {
	s.epochs[sale.ID]++
	sale.Epoch = s.epochs[sale.ID]
}

// snapshot is a snapshot out of slices.
func snapshot(sale *rushgate.Sale, claims []rushgate.Claim, stock ...rushgate.Stock) rushgate.Snapshot {
	return rushgate.Snapshot{Sale: sale, Stock: stock,
		Claims: func(yield func(rushgate.Claim, error) bool) {
			for _, c := range claims {
				if !yield(c, nil) {
					return
				}
			}
		}}
}

// put changes the rules of a sale, in the next version.
func (s *stage) put(sale *rushgate.Sale) {
	s.t.Helper()
	sale.Version++
	s.ok(s.gate.Put(s.ctx, &rushgate.Put{Sale: sale}))
}

// ask makes an ask of item "a" with a new id and no key.
func (s *stage) ask(sale, user string, quantity int64) rushgate.Ask {
	s.last++
	return rushgate.Ask{ID: s.last, Sale: sale, Item: "a", User: user, Quantity: quantity}
}

// keyed is ask with a key.
func (s *stage) keyed(sale, user string, quantity int64, key string) rushgate.Ask {
	a := s.ask(sale, user, quantity)
	a.Key = key
	return a
}

// claim has a batch decided. What Peek says just before is held against the
// first decision: whatever Peek refuses, Claim must refuse with the same code.
// LimitReached is not Peek's to say, because that answer names claims.
func (s *stage) claim(asks ...rushgate.Ask) []rushgate.Decision {
	s.t.Helper()
	peeked := rushgate.Granted
	if len(asks) > 0 {
		peeked = s.gate.Peek(s.now, &asks[0])
	}
	out := make([]rushgate.Decision, len(asks))
	s.ok(s.gate.Claim(s.ctx, s.now, asks, out))
	if peeked == rushgate.LimitReached || peeked != rushgate.Granted && out[0].Code != peeked {
		s.t.Fatalf("Peek refused with %s what Claim answers with %s: %+v", peeked, out[0].Code, asks[0])
	}
	return out
}

// want asks once and expects a code.
func (s *stage) want(code rushgate.Code, a rushgate.Ask) rushgate.Decision {
	s.t.Helper()
	d := s.claim(a)[0]
	if d.Code != code {
		s.t.Fatalf("got %s, want %s for %+v", d.Code, code, a)
	}
	return d
}

// grant asks once, expects a grant, and returns the claim as the ledger would
// have it.
func (s *stage) grant(a rushgate.Ask) rushgate.Claim {
	s.t.Helper()
	return claimOf(a, s.want(rushgate.Granted, a))
}

// codes expects the codes of a batch.
func (s *stage) codes(asks []rushgate.Ask, want ...rushgate.Code) []rushgate.Decision {
	s.t.Helper()
	out := s.claim(asks...)
	got := make([]rushgate.Code, len(out))
	for i, d := range out {
		got[i] = d.Code
	}
	if !slices.Equal(got, want) {
		s.t.Fatalf("got %s, want %s", got, want)
	}
	return out
}

// count returns the count of an item.
func (s *stage) count(sale, item string) rushgate.Count {
	s.t.Helper()
	counts, err := s.gate.Count(s.ctx, sale)
	s.ok(err)
	for _, c := range counts {
		if c.Item == item {
			return c
		}
	}
	s.t.Fatalf("no item %s in %+v", item, counts)
	return rushgate.Count{}
}

// counts expects what is free and unsettled of item "a".
func (s *stage) counts(sale string, free, unsettled int64) {
	s.t.Helper()
	if c := s.count(sale, "a"); c.Free != free || c.Unsettled != unsettled {
		s.t.Fatalf("got %d free, %d unsettled; want %d, %d", c.Free, c.Unsettled, free, unsettled)
	}
}

func (s *stage) settle(c ...rushgate.Claim) { s.t.Helper(); s.ok(s.gate.Settle(s.ctx, c)) }
func (s *stage) forget(c ...rushgate.Claim) { s.t.Helper(); s.ok(s.gate.Forget(s.ctx, c)) }

// giveBack returns claims as the ledger has them after their end.
func (s *stage) giveBack(c ...rushgate.Claim) {
	s.t.Helper()
	c = slices.Clone(c)
	for i := range c {
		c[i].State, c[i].Slot = rushgate.Released, rushgate.NoSlot
	}
	s.ok(s.gate.Return(s.ctx, c))
}

// restock expects a restock of item "a" to go through or not.
func (s *stage) restock(sale string, add int64, want bool) {
	s.t.Helper()
	enough, err := s.gate.Restock(s.ctx, &rushgate.Restock{Sale: sale, Item: "a", Add: add, Epoch: s.epochs[sale]})
	s.ok(err)
	if enough != want {
		s.t.Fatalf("restock by %d: got %t, want %t", add, enough, want)
	}
}

// claimOf is the claim that a granted ask becomes.
func claimOf(a rushgate.Ask, d rushgate.Decision) rushgate.Claim {
	return rushgate.Claim{ID: a.ID, Sale: a.Sale, Item: a.Item, User: a.User, Quantity: a.Quantity,
		Key: a.Key, Slot: d.Slot, State: rushgate.Held}
}
