package redis_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"rushgate"
	"rushgate/gate/redis"
	"rushgate/ledger/sqlite"
)

// half is a sale in three shards that two nodes sell, of which the first dies
// after a change of the rules has reached the first shard alone.
type half struct {
	t     *testing.T
	opts  redis.Options
	gates []*redis.Gate
	nodes []*rushgate.Service

	chores atomic.Bool // the nodes look after what others left: not before it is there
}

func newHalf(t *testing.T, adoptAfter time.Duration) *half {
	t.Helper()
	h := &half{t: t, opts: hasty(fresh())}
	ledger, err := sqlite.Open(t.Context(), t.TempDir(), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ledger.Close() })
	for i := range 2 {
		gate := open(t, server.Server(t).URL(), h.opts)
		node, err := rushgate.Open(t.Context(), rushgate.Config{Gate: gate, Ledger: ledger, Node: i, AdoptAfter: adoptAfter,
			SweepEvery: time.Hour, AuditEvery: time.Hour, Chores: h.chores.Load})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { node.Close(context.Background()); gate.Close() })
		h.gates, h.nodes = append(h.gates, gate), append(h.nodes, node)
	}
	h.must(h.nodes[0].CreateSale(t.Context(), rushgate.Sale{ID: "sale", Shards: 3, Items: []rushgate.Item{{ID: "a", Name: "A", Stock: 9_000}}}))
	return h
}

func (h *half) must(_ *rushgate.SaleView, err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}

// fails makes a change that reaches the first shard alone, and returns what
// keeps the others from it.
func (h *half) fails(change func(context.Context, string) (*rushgate.SaleView, error)) (obstacles []string) {
	h.t.Helper()
	obstacles = []string{h.opts.Prefix + "{sale.1}:loading", h.opts.Prefix + "{sale.2}:loading"}
	for _, key := range obstacles {
		command(h.t, raw(h.t, server.Server(h.t).Addr), "SET", key, "1 nobody")
	}
	_, err := change(h.t.Context(), "sale")
	wantCode(h.t, err, rushgate.Unavailable)
	h.chores.Store(true)
	return obstacles
}

// dies makes a change at the first node, which dies when the first shard has it.
func (h *half) dies(change func(context.Context, string) (*rushgate.SaleView, error)) {
	h.t.Helper()
	obstacles := h.fails(change)
	if err := h.nodes[0].Close(h.t.Context()); err != nil {
		h.t.Fatal(err)
	}
	for _, key := range obstacles {
		command(h.t, raw(h.t, server.Server(h.t).Addr), "DEL", key)
	}
}

// served says that people of all shards can claim at the node that is left.
func (h *half) served() bool {
	for i := range 12 {
		if _, err := h.nodes[1].Claim(h.t.Context(), rushgate.ClaimRequest{Sale: "sale", User: fmt.Sprint("user ", i)}); err != nil {
			return false
		}
	}
	return true
}

// refused expects one refusal for people of all shards, also from a gate that
// nobody has a hint of.
func (h *half) refused(want rushgate.Code) {
	h.t.Helper()
	asks, out := make([]rushgate.Ask, 12), make([]rushgate.Decision, 12)
	for i := range asks {
		asks[i] = rushgate.Ask{ID: rushgate.ID(i + 1), Sale: "sale", Item: "a", User: fmt.Sprint("user ", i), Quantity: 1}
		_, err := h.nodes[1].Claim(h.t.Context(), rushgate.ClaimRequest{Sale: "sale", User: asks[i].User})
		wantCode(h.t, err, want)
	}
	if err := h.gates[1].Claim(h.t.Context(), time.Now(), asks, out); err != nil {
		h.t.Fatal(err)
	}
	for i, d := range out {
		if d.Code != want {
			h.t.Fatalf("the claim of %s is %s, want %s", asks[i].User, d.Code, want)
		}
	}
}

func wantCode(t *testing.T, err error, want rushgate.Code) {
	t.Helper()
	if got := rushgate.CodeOf(err); got != want {
		t.Fatalf("got %q (%v), want %q", got, err, want)
	}
}

// Admin beats buyer, also where somebody else's resume has opened one shard.
func TestAFreezeAfterHalfAResume(t *testing.T) {
	t.Parallel() // it waits more than it works
	h := newHalf(t, time.Hour)
	h.must(h.nodes[0].Freeze(t.Context(), "sale"))
	h.dies(h.nodes[0].Resume)
	h.must(h.nodes[1].Freeze(t.Context(), "sale"))
	h.refused(rushgate.Frozen)
	h.must(h.nodes[1].CloseSale(t.Context(), "sale"))
	h.refused(rushgate.Closed)
}

// Nobody has frozen the sale, as far as anybody was told: it goes on by itself.
func TestHalfAFreezeIsMended(t *testing.T) {
	t.Parallel() // it waits more than it works
	h := newHalf(t, 100*time.Millisecond)
	h.dies(h.nodes[0].Freeze)
	soon(t, "everybody is served", h.served)
}

// A node that lives mends at once what it left half done.
func TestHalfAChangeOfTheLimitIsMended(t *testing.T) {
	t.Parallel() // it waits more than it works
	h := newHalf(t, time.Hour)
	limit := int64(3)
	h.fails(func(ctx context.Context, id string) (*rushgate.SaleView, error) {
		return h.nodes[0].ChangeSale(ctx, id, rushgate.SaleChange{PerUser: &limit})
	})
	soon(t, "everybody is served", h.served)
}

// A gate in parts of different versions has none of them.
func TestTheMarkOfHalfAChange(t *testing.T) {
	t.Parallel() // it waits more than it works
	opts := hasty(fresh())
	s := newShop(t, server.Server(t).URL(), opts, 2)
	s.load(10)
	c := raw(t, server.Server(t).Addr)
	key := opts.Prefix + "{sale.1}:loading"
	command(t, c, "SET", key, "1 nobody")
	s.sale.Frozen, s.sale.Version = true, 2
	put := &rushgate.Put{Sale: &s.sale, Was: 1}
	wantCode(t, s.gate.Put(t.Context(), put), rushgate.Unavailable)
	command(t, c, "DEL", key)
	for _, want := range []int64{0, 2} {
		if m, err := s.gate.Mark(t.Context(), "sale"); err != nil || m.Epoch != 1 || m.Version != want {
			t.Fatalf("mark %+v, %v; want version %d", m, err, want)
		}
		if err := s.gate.Put(t.Context(), put); err != nil {
			t.Fatal(err)
		}
	}
}
