package rushgate_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"rushgate"
)

// moody is a ledger that now and then fails, before or after it has recorded.
type moody struct {
	rushgate.Ledger
	mu   sync.Mutex
	rand *rand.Rand
	odds int // one in so many records fails; 0: none
}

var errMood = errors.New("the connection was cut")

func (m *moody) mood() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.odds == 0 {
		return 0
	}
	return max(0, 3-m.rand.IntN(m.odds)) // 1, 2, 3: a mood each
}

func (m *moody) Record(ctx context.Context, b *rushgate.Batch) error {
	switch m.mood() {
	case 1:
		return errMood
	case 2: // it happened, and nobody can tell
		if err := m.Ledger.Record(ctx, b); err != nil {
			return err
		}
		return fmt.Errorf("%w: %w", rushgate.ErrUnknown, errMood)
	case 3: // it did not happen, and nobody can tell
		return fmt.Errorf("%w: %w", rushgate.ErrUnknown, errMood)
	}
	return m.Ledger.Record(ctx, b)
}

func (m *moody) Recorded(ctx context.Context, b *rushgate.Batch) (bool, error) {
	if m.mood() == 1 {
		return false, errMood
	}
	return m.Ledger.Recorded(ctx, b)
}

// TestTownHistories plays random histories of three nodes that share a gate
// which forgets, nodes that die between gate and ledger, a ledger that fails
// before and after it commits, and operators. Whatever happens: nothing is
// sold twice, nothing acknowledged is lost, and at the end nothing is stranded.
func TestTownHistories(t *testing.T) {
	for seed := range uint64(12) {
		t.Run(fmt.Sprint("Seed", seed), func(t *testing.T) {
			t.Parallel()
			h := newTownHistory(t, seed)
			for range 60 {
				h.step()
			}
			h.settle()
		})
	}
}

type townHistory struct {
	*town
	t     *testing.T
	rand  *rand.Rand
	moods []*moody
	acked map[rushgate.ID]rushgate.Claim
	fresh map[rushgate.ID]bool // acknowledged, and not as a replay
	keys  map[string]rushgate.ID
	ended map[rushgate.ID]bool
	ghost rushgate.ID
}

func newTownHistory(t *testing.T, seed uint64) *townHistory {
	h := &townHistory{t: t, rand: rand.New(rand.NewPCG(seed, 7)), acked: map[rushgate.ID]rushgate.Claim{}, fresh: map[rushgate.ID]bool{},
		keys: map[string]rushgate.ID{}, ended: map[rushgate.ID]bool{}, ghost: 5 << 40}
	h.town = newTown(t, 3, func(i int, cfg *rushgate.Config) {
		m := &moody{Ledger: cfg.Ledger, rand: rand.New(rand.NewPCG(seed, uint64(i)))}
		h.moods = append(h.moods, m)
		cfg.Ledger = m
	})
	limits := []int64{0, 1, 1, 3}
	h.sell(t, 30, func(s *rushgate.Sale) { s.PerUser = limits[seed%4] })
	for _, m := range h.moods {
		m.odds = []int{0, 10, 30}[seed%3]
	}
	return h
}

func (h *townHistory) node() *rushgate.Service { return h.nodes[h.rand.IntN(len(h.nodes))] }

func (h *townHistory) user() string { return fmt.Sprint("user-", h.rand.IntN(25)) }

func (h *townHistory) step() {
	switch n := h.rand.IntN(20); {
	case n < 10:
		h.crowd()
	case n < 11:
		h.dieBetween()
	case n < 12:
		h.gate.lose()
	case n < 14:
		h.node().Restock(ctx, "phones", "black", int64(h.rand.IntN(7)-3))
	case n < 15:
		h.node().Freeze(ctx, "phones")
		h.node().Resume(ctx, "phones")
	case n < 18:
		h.end()
	default:
		h.clock.Add(time.Duration(h.rand.IntN(100)) * time.Millisecond)
	}
}

// crowd lets several buyers claim at the same time.
func (h *townHistory) crowd() {
	var wg sync.WaitGroup
	var mu sync.Mutex
	for range 1 + h.rand.IntN(6) {
		node, user, key := h.rand.IntN(3), h.user(), ""
		if h.rand.IntN(2) == 0 {
			key = "k-" + user
		}
		wg.Go(func() {
			r, err := h.at(node, user, key)
			if err != nil {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			if had, ok := h.keys[key]; ok && had != r.Claim.ID {
				h.t.Errorf("key %s made claims %d and %d", key, had, r.Claim.ID)
			}
			if key != "" {
				h.keys[key] = r.Claim.ID
			}
			if h.fresh[r.Claim.ID] && !r.Replayed {
				h.t.Errorf("claim %d was granted twice", r.Claim.ID)
			}
			h.fresh[r.Claim.ID] = h.fresh[r.Claim.ID] || !r.Replayed
			h.acked[r.Claim.ID] = r.Claim
		})
	}
	wg.Wait()
}

// dieBetween is a node that asks the gate and is gone.
func (h *townHistory) dieBetween() {
	h.ghost++
	asks := []rushgate.Ask{{ID: h.ghost, Sale: "phones", Item: "black", User: h.user(), Quantity: 1}}
	h.gate.Claim(ctx, h.clock.Now(), asks, make([]rushgate.Decision, 1))
}

// end ends a claim, one way or the other.
func (h *townHistory) end() {
	for id, c := range h.acked {
		if c.State != rushgate.Held || h.ended[id] {
			continue
		}
		end := h.node().Release
		if h.rand.IntN(2) == 0 {
			end = h.node().Confirm
		}
		if _, err := end(ctx, id); err == nil {
			h.ended[id] = true
		}
		return
	}
}

// settle lets everything come to rest, and counts.
func (h *townHistory) settle() {
	for _, m := range h.moods {
		m.mu.Lock()
		m.odds = 0
		m.mu.Unlock()
	}
	h.clock.Add(time.Second)
	eventually(h.t, "the gate is whole, and the journal empty", func() bool {
		h.at(0, "somebody") // who meets a gate that forgot has it mended
		h.clock.Add(50 * time.Millisecond)
		return len(h.open(h.t)) == 0 && h.atRest()
	})
	h.audit(h.t)
	if st := h.stock(h.t); st.Unsettled != 0 || st.Free != st.Total-st.Held-st.Confirmed {
		h.t.Errorf("stock %+v", st)
	}
	for id, c := range h.acked {
		got, err := h.ledger.Claim(ctx, id)
		if err != nil || got.User != c.User || got.State == rushgate.Revoked || got.State == rushgate.ExpiredState {
			h.t.Errorf("acknowledged claim %d of %s: %+v, %v", id, c.User, got, err)
		}
	}
}

func (h *townHistory) atRest() bool {
	sale, err := h.ledger.Sale(ctx, "phones")
	mark, _ := h.gate.Mark(ctx, "phones")
	return err == nil && mark.Epoch == sale.Epoch && !slices.ContainsFunc(h.nodes, func(s *rushgate.Service) bool { return s.Err() != nil })
}
