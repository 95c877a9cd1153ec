package rushgate_test

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"rushgate"
	"rushgate/gate/memory"
	"rushgate/ledger/sqlite"
)

// commons is a shared gate in memory: what several nodes of a test see. It can
// forget everything, as a server that restarts without persistence does.
type commons struct {
	clock *clock

	mu        sync.Mutex
	gate      *memory.Gate
	sales     map[string]*picture
	lost      map[string]int64 // the epochs of pictures that it has no more
	listeners []func(string)
	full      bool // the journal takes no more
}

// picture is what the commons know of a sale beside its gate.
type picture struct {
	rules   rushgate.Sale
	seq     int64
	journal map[rushgate.ID]rushgate.Claim
}

func newCommons(c *clock) *commons {
	return &commons{clock: c, gate: memory.New(), sales: map[string]*picture{}, lost: map[string]int64{}}
}

// lose forgets everything.
func (c *commons) lose() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, p := range c.sales {
		c.lost[id] = p.rules.Epoch
	}
	c.gate, c.sales = memory.New(), map[string]*picture{}
}

// change runs do under the lock, as one change of a sale, and tells the listeners.
func (c *commons) change(sale string, do func(p *picture) error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.sales[sale]
	err := do(p)
	if p != nil {
		p.seq++
	}
	for _, f := range c.listeners {
		f(sale)
	}
	return err
}

func (c *commons) Load(ctx context.Context, s rushgate.Snapshot) error {
	return c.change(s.Sale.ID, func(p *picture) error {
		if p != nil && p.rules.Epoch >= s.Sale.Epoch {
			return rushgate.ErrStale
		}
		if err := c.gate.Load(ctx, s); err != nil {
			return err
		}
		c.sales[s.Sale.ID] = &picture{rules: *s.Sale, journal: map[rushgate.ID]rushgate.Claim{}}
		return nil
	})
}

func (c *commons) Put(ctx context.Context, put *rushgate.Put) error {
	s := put.Sale
	return c.change(s.ID, func(p *picture) error {
		if p == nil || p.rules.Epoch != s.Epoch || p.rules.Version >= s.Version || put.Was != 0 && put.Was != p.rules.Version {
			return rushgate.ErrStale
		}
		p.rules = *s
		return c.gate.Put(ctx, put)
	})
}

func (c *commons) Peek(time.Time, *rushgate.Ask) rushgate.Code { return rushgate.Granted }

func (c *commons) Claim(ctx context.Context, _ time.Time, asks []rushgate.Ask, out []rushgate.Decision) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.full {
		for i := range out {
			out[i] = rushgate.Decision{Code: rushgate.Overloaded}
		}
		return nil
	}
	now := c.clock.Now().Truncate(time.Millisecond)
	if err := c.gate.Claim(ctx, now, asks, out); err != nil {
		return err
	}
	for i := range out {
		if p := c.sales[asks[i].Sale]; p != nil {
			p.seq++
			out[i].Epoch, out[i].Version, out[i].At = p.rules.Epoch, p.rules.Version, now
			if out[i].Code == rushgate.Granted {
				out[i].Early = p.rules.Ack != rushgate.Recorded
				p.journal[asks[i].ID] = p.claim(&asks[i], &out[i])
			}
		}
	}
	return nil
}

func (p *picture) claim(a *rushgate.Ask, d *rushgate.Decision) rushgate.Claim {
	c := rushgate.Claim{ID: a.ID, Sale: a.Sale, Item: a.Item, User: a.User, Quantity: a.Quantity, Key: a.Key,
		Slot: d.Slot, State: rushgate.Held, CreatedAt: d.At, ExpiresAt: d.At.Add(p.rules.Hold)}
	if p.rules.Hold == 0 {
		c.State, c.ExpiresAt, c.EndedAt = rushgate.Confirmed, time.Time{}, d.At
	}
	return c
}

// each does something for each claim's sale, and takes the claims out of the journal.
func (c *commons) each(claims []rushgate.Claim, do func([]rushgate.Claim) error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, claim := range claims {
		if p := c.sales[claim.Sale]; p != nil {
			p.seq++
			delete(p.journal, claim.ID)
		}
	}
	return do(claims)
}

func (c *commons) Settle(ctx context.Context, claims []rushgate.Claim) error {
	return c.each(claims, func(l []rushgate.Claim) error { return c.gate.Settle(ctx, l) })
}

func (c *commons) Return(ctx context.Context, claims []rushgate.Claim) error {
	return c.each(claims, func(l []rushgate.Claim) error { return c.gate.Return(ctx, l) })
}

func (c *commons) Forget(ctx context.Context, claims []rushgate.Claim) error {
	c.mu.Lock()
	claims = slices.DeleteFunc(slices.Clone(claims), func(claim rushgate.Claim) bool {
		p := c.sales[claim.Sale]
		return p == nil || p.journal[claim.ID].ID == 0
	})
	c.mu.Unlock()
	return c.each(claims, func(l []rushgate.Claim) error { return c.gate.Forget(ctx, l) })
}

func (c *commons) Restock(ctx context.Context, r *rushgate.Restock) (enough bool, err error) {
	err = c.change(r.Sale, func(p *picture) (err error) {
		if p == nil || p.rules.Epoch != r.Epoch {
			return rushgate.ErrStale
		}
		enough, err = c.gate.Restock(ctx, r)
		return err
	})
	return enough, err
}

func (c *commons) Count(ctx context.Context, sale string) ([]rushgate.Count, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.gate.Count(ctx, sale)
}

func (c *commons) Mark(_ context.Context, sale string) (rushgate.Mark, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.sales[sale]
	if p == nil {
		return rushgate.Mark{}, nil
	}
	return rushgate.Mark{Epoch: p.rules.Epoch, Version: p.rules.Version, Seq: p.seq}, nil
}

func (c *commons) Orphans(_ context.Context, sale string, age time.Duration, limit int) ([]rushgate.Claim, int64, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.sales[sale]
	if p == nil {
		if epoch := c.lost[sale]; epoch > 0 {
			return nil, 0, &rushgate.Error{Code: rushgate.Forgot, Epoch: epoch}
		}
		return nil, 0, nil
	}
	var old []rushgate.Claim
	for _, id := range slices.Sorted(maps.Keys(p.journal)) {
		if claim := p.journal[id]; c.clock.Now().Sub(claim.CreatedAt) >= age && len(old) < limit {
			old = append(old, claim)
		}
	}
	return old, p.rules.Epoch, nil
}

func (c *commons) Mend(context.Context, string) (int64, error) { return 0, nil }

func (c *commons) Listen(f func(string)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.listeners = append(c.listeners, f)
}

func (c *commons) Close() error { return nil }

// town is several services on one gate and one ledger.
type town struct {
	*world
	gate  *commons
	nodes []*rushgate.Service
}

// newTown opens so many nodes. edit changes the configuration of the i-th.
func newTown(t *testing.T, nodes int, edit ...func(i int, cfg *rushgate.Config)) *town {
	t.Helper()
	c := newClock()
	town := &town{world: &world{dir: t.TempDir(), clock: c}, gate: newCommons(c)}
	ledger, err := sqlite.Open(ctx, town.dir, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ledger.Close() })
	town.ledger = ledger
	for i := range nodes {
		cfg := rushgate.Config{Gate: town.gate, Ledger: ledger, Now: c.Now, Node: i,
			SweepEvery: time.Hour, AuditEvery: time.Hour, FollowEvery: 5 * time.Millisecond, AdoptAfter: 20 * time.Millisecond}
		for _, e := range edit {
			e(i, &cfg)
		}
		town.nodes = append(town.nodes, open(t, cfg))
	}
	town.shop = town.nodes[0]
	return town
}

func open(t *testing.T, cfg rushgate.Config) *rushgate.Service {
	t.Helper()
	s, err := rushgate.Open(ctx, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close(ctx) })
	return s
}

// at claims at one of the nodes.
func (w *town) at(node int, user string, key ...string) (rushgate.Receipt, error) {
	return w.nodes[node].Claim(ctx, rushgate.ClaimRequest{Sale: "phones", User: user, Key: cmp.Or(append(key, "")...)})
}

// eventually waits until something is true, as others bring it about.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for !is() {
		if time.Now().After(deadline) {
			t.Fatalf("it never came to be: %s", what)
		}
		select {
		case <-time.After(time.Millisecond):
		case <-t.Context().Done():
			t.Fatal(what)
		}
	}
}

// recorded counts the active claims in the ledger.
func (w *town) recorded(t *testing.T) int {
	t.Helper()
	claims, err := w.ledger.Claims(ctx, rushgate.ClaimQuery{Sale: "phones", Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	return len(slices.DeleteFunc(claims, func(c rushgate.Claim) bool { return !c.State.Active() }))
}
