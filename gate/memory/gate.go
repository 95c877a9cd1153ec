// Package memory is the gate of one machine: every sale in maps of this
// process, decided under one lock, rebuilt from the ledger at every start.
//
// # What it remembers
//
// Users and idempotency keys are remembered as 128-bit hashes, keyed by two
// random seeds that New makes. The big maps so hold no pointers, and the
// garbage collector never looks into them. Two users are taken for one with a
// probability of n²/2 × 2^-128 for n remembered claims: at 10 million, less
// than 2^-80, far below the error rate of the memory itself. Nobody can search
// for a collision either, because neither seeds nor hashes leave the process.
//
// # Locks
//
// One lock orders all changes, so a batch is one step. Peek works on atomic
// values and takes the lock, for reading, only before it refuses an ask whose
// user or key may be known.
//
// # Assertions
//
// A count is never changed so that it would break an invariant (more units free
// than there are, more settled than were granted). The method that was asked
// for it carries out the rest and returns an error that names the sale and the
// item: units are rather stranded, for the auditor to find, than sold twice. A
// grant that the free units do not cover is answered with SoldOut, whatever led
// to it. Nothing panics.
package memory

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"rushgate"
)

// Gate is a rushgate.Gate in the memory of this process. It obeys the moment
// that callers pass in, and starts no goroutines.
type Gate struct {
	seeds seeds

	// mu guards everything in every sale that is not atomic. A table of sales
	// is never changed: a new one takes its place, so that Peek can read it
	// without the lock. Sales are few and seldom new, asks are many.
	mu    sync.RWMutex
	sales atomic.Pointer[map[string]*sale]
}

var _ rushgate.Gate = (*Gate)(nil)

// New returns a gate that knows no sale.
func New() *Gate {
	g := &Gate{seeds: newSeeds()}
	g.sales.Store(&map[string]*sale{})
	return g
}

// sale returns what the gate knows of a sale, or nil.
func (g *Gate) sale(id string) *sale { return (*g.sales.Load())[id] }

// known is sale with an error for a sale that is not there.
func (g *Gate) known(id string) (*sale, error) {
	if s := g.sale(id); s != nil {
		return s, nil
	}
	return nil, &rushgate.Error{Code: rushgate.NotFound, Message: fmt.Sprintf("the gate has no sale %q", id)}
}

// replace puts a sale into the table. The caller holds the lock.
func (g *Gate) replace(s *sale) {
	table := maps.Clone(*g.sales.Load())
	table[s.id] = s
	g.sales.Store(&table)
}

// Put implements rushgate.Gate. Going from "no limit" to a limit or back is an
// error that changes nothing: what is remembered differs between the two.
func (g *Gate) Put(_ context.Context, p *rushgate.Put) error {
	rules := p.Sale
	g.mu.Lock()
	defer g.mu.Unlock()
	s, err := g.known(rules.ID)
	if err != nil {
		return err
	}
	if (rules.PerUser > 0) != s.limited {
		return fmt.Errorf("the limit of sale %s cannot change between none and some without a load", s.id)
	}
	s.changes++
	s.setRules(rules)
	return nil
}

// Peek implements rushgate.Gate. It allocates nothing.
func (g *Gate) Peek(now time.Time, a *rushgate.Ask) rushgate.Code {
	s := g.sale(a.Sale)
	if s == nil {
		return rushgate.NotFound
	}
	code := s.glance(now, a)
	if code == rushgate.Granted || a.Key == "" && (code != rushgate.SoldOut || !s.limited) {
		return code
	}
	g.mu.RLock()
	defer g.mu.RUnlock()
	if loaded := g.sale(a.Sale); loaded != nil {
		s = loaded
	}
	return s.peek(now, a)
}

// Restock implements rushgate.Gate. An unknown sale or item, and a total out of
// bounds, are errors.
func (g *Gate) Restock(_ context.Context, r *rushgate.Restock) (bool, error) {
	sale, item, add := r.Sale, r.Item, r.Add
	g.mu.Lock()
	defer g.mu.Unlock()
	s, err := g.known(sale)
	if err != nil {
		return false, err
	}
	n := s.find(item)
	if n < 0 {
		return false, &rushgate.Error{Code: rushgate.NotFound,
			Message: fmt.Sprintf("the gate has no item %q in sale %s", item, sale)}
	}
	enough, err := s.items[n].restock(add)
	if err != nil {
		return false, fmt.Errorf("restock of sale %s: %w", sale, err)
	}
	s.changes++
	return enough, nil
}

// Count implements rushgate.Gate. Free is negative only when the ledger said at
// the last Load that more is taken than there is.
func (g *Gate) Count(_ context.Context, sale string) ([]rushgate.Count, error) {
	g.mu.RLock()
	defer g.mu.RUnlock()
	s, err := g.known(sale)
	if err != nil {
		return nil, err
	}
	counts := make([]rushgate.Count, len(s.items))
	for i := range s.items {
		it := &s.items[i]
		counts[i] = rushgate.Count{Item: it.id, Free: it.free.Load(), Unsettled: it.unsettled}
	}
	return counts, nil
}

// Close implements rushgate.Gate: the memory is free again.
func (g *Gate) Close() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.sales.Store(&map[string]*sale{})
	return nil
}

// Settle implements rushgate.Gate.
func (g *Gate) Settle(_ context.Context, claims []rushgate.Claim) error {
	return g.each(claims, (*sale).settle)
}

// Return implements rushgate.Gate.
func (g *Gate) Return(_ context.Context, claims []rushgate.Claim) error {
	return g.each(claims, (*sale).giveBack)
}

// Forget implements rushgate.Gate.
func (g *Gate) Forget(_ context.Context, claims []rushgate.Claim) error {
	return g.each(claims, (*sale).forget)
}

// each applies a change to the sale of every claim. It goes on after an error,
// so that one bad claim does not strand the units of the others, and ignores
// the caller's context for the same reason: this gate never has to wait.
func (g *Gate) each(claims []rushgate.Claim, change func(*sale, *rushgate.Claim) error) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	var errs []error
	var s *sale
	for i := range claims {
		c := &claims[i]
		if s == nil || s.id != c.Sale {
			if s = g.sale(c.Sale); s == nil {
				continue
			}
			s.changes++
		}
		if err := change(s, c); err != nil {
			errs = append(errs, fmt.Errorf("claim %d of sale %s: %w", c.ID, c.Sale, err))
		}
	}
	return errors.Join(errs...)
}
