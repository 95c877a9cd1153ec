package locktest

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"rushgate/lock"
)

// A history is a random sequence of calls by a few owners on a few keys. A
// backend must answer as the model does, which knows one list for each key, in
// the order in which claims came, and looks at all of it each time.

// mclaim is a claim in the model.
type mclaim struct {
	owner       string
	need, limit int64
	tokens      []string
	held        bool
	fence       uint64 // 0: it is held, and we were not told yet
}

// model is one key.
type model struct {
	claims []*mclaim
	fence  uint64 // the greatest that was answered
}

func (m *model) of(owner string) *mclaim {
	for _, c := range m.claims {
		if c.owner == owner {
			return c
		}
	}
	return nil
}

func (m *model) carrying(c lock.Claim) *mclaim {
	if have := m.of(c.Owner); have != nil && slices.Contains(have.tokens, c.Token) {
		return have
	}
	return nil
}

func (m *model) line() (n int) {
	for _, c := range m.claims {
		if !c.held {
			n++
		}
	}
	return n
}

func (m *model) fits(need, limit int64) bool {
	for _, c := range m.claims {
		if c.held {
			need += c.need
		}
	}
	return need <= limit
}

// serve grants from the head of the line and returns who was granted.
func (m *model) serve() (served []*mclaim) {
	for _, c := range m.claims {
		if c.held {
			continue
		}
		if !m.fits(c.need, c.limit) {
			return served
		}
		c.held = true
		served = append(served, c)
	}
	return served
}

func (m *model) drop(c *mclaim) []*mclaim {
	m.claims = slices.DeleteFunc(m.claims, func(other *mclaim) bool { return other == c })
	return m.serve()
}

func (m *model) state(c *mclaim) lock.State {
	if c.held {
		return lock.Granted
	}
	return lock.Waiting
}

func (m *model) acquire(c lock.Claim) lock.State {
	have := m.of(c.Owner)
	switch {
	case have != nil && slices.Contains(have.tokens, c.Token):
	case have != nil && !have.held && c.Line == 0:
		return lock.Taken
	case have != nil && c.Need > have.need:
		return lock.Denied
	case have != nil:
		have.tokens = append(have.tokens, c.Token)
	default:
		fits := m.line() == 0 && m.fits(c.Need, c.Limit)
		if !fits && c.Line == 0 {
			return lock.Taken
		}
		if !fits && m.line() >= c.Line {
			return lock.Full
		}
		have = &mclaim{owner: c.Owner, need: c.Need, limit: c.Limit, tokens: []string{c.Token}, held: fits}
		m.claims = append(m.claims, have)
	}
	return m.state(have)
}

// history is one run.
type history struct {
	*rapid.T
	f     Factory
	tb    testing.TB
	b     lock.Backend
	raw   lock.Backend // for those who look behind it
	ears  *ear
	names *tokens
	run   string
	keys  map[string]*model
	used  []lock.Claim // all that were ever made
}

func histories(t *testing.T, f Factory) {
	raw := f.New(t)
	b := f.inStep(raw)
	names := &tokens{node: nodeOf(t)}
	ears := listen(t, b, names.node)
	runs := 0
	rapid.Check(t, func(rt *rapid.T) {
		runs++ // keys of its own for each: what the last one left does not matter
		h := &history{T: rt, f: f, tb: t, b: b, raw: raw, ears: ears, names: names, run: fmt.Sprint("h", runs, "."), keys: map[string]*model{}}
		for _, k := range []string{"k1", "k2"} {
			h.keys[h.run+k] = &model{}
		}
		rt.Repeat(map[string]func(*rapid.T){
			"acquire": func(*rapid.T) { h.acquire() },
			"again":   func(*rapid.T) { h.again() },
			"renew":   func(*rapid.T) { h.renew() },
			"release": func(*rapid.T) { h.release() },
			"expire":  func(*rapid.T) { h.expire() },
			"":        func(*rapid.T) { h.invariants() },
		})
		h.end()
	})
}

func (h *history) acquire() {
	key := h.run + rapid.SampledFrom([]string{"k1", "k1", "k2"}).Draw(h.T, "key")
	owner := rapid.SampledFrom([]string{"a", "b", "c", "d", "e"}).Draw(h.T, "owner")
	limit := rapid.SampledFrom([]int64{1, 3, all}).Draw(h.T, "limit")
	need := rapid.SampledFrom([]int64{1, min(2, limit), limit}).Draw(h.T, "need")
	line := rapid.SampledFrom([]int{0, 1, 5}).Draw(h.T, "line")
	if h.f.Quorum {
		line = 0
	}
	c := claim(key, owner, h.names.next(), need, limit, line)
	h.used = append(h.used, c)
	h.ask(c)
}

// again asks for something that was asked for, as after an answer that got lost.
func (h *history) again() {
	c := h.some()
	if h.keys[c.Key].carrying(c) == nil {
		h.Skip("a token that was refused or released is not used again")
	}
	h.ask(c)
}

func (h *history) ask(c lock.Claim) {
	m := h.keys[c.Key]
	want := m.acquire(c)
	h.compare("acquire", c, want, h.b.Acquire(context.Background(), c))
}

func (h *history) some() lock.Claim {
	if len(h.used) == 0 {
		h.Skip("nothing was asked for yet")
	}
	return rapid.SampledFrom(h.used).Draw(h.T, "claim")
}

func (h *history) renew() {
	c := h.some()
	want, have := lock.Gone, h.keys[c.Key].carrying(c)
	if have != nil {
		want = h.keys[c.Key].state(have)
		c.Fence = have.fence
	}
	h.compare("renew", c, want, h.b.Renew(context.Background(), []lock.Claim{c})[0])
}

func (h *history) release() {
	c := h.some()
	m := h.keys[c.Key]
	want, have := lock.Gone, m.carrying(c)
	var served []*mclaim
	if have != nil {
		want = m.state(have)
		have.tokens = slices.DeleteFunc(have.tokens, func(t string) bool { return t == c.Token })
		if len(have.tokens) == 0 {
			served = m.drop(have)
		}
	}
	a := h.b.Release(context.Background(), []lock.Claim{c})[0]
	if a.Err != nil || a.State != want {
		h.Fatalf("release %+v: %s, %v; the model says %s", c, a.State, a.Err, want)
	}
	h.told(m, served)
}

// expire ends a lease, and looks, so that it takes effect.
func (h *history) expire() {
	c := h.some()
	m := h.keys[c.Key]
	have := m.carrying(c)
	if have == nil {
		h.Skip("it is gone already")
	}
	h.f.Expire(h.tb, h.raw, c.Key, c.Owner)
	served := m.drop(have)
	h.compare("renew", c, lock.Gone, h.b.Renew(context.Background(), []lock.Claim{c})[0])
	h.told(m, served)
}

// told waits for the news of those who were served.
func (h *history) told(m *model, served []*mclaim) {
	for _, s := range served {
		for _, token := range s.tokens {
			h.granted(m, s, h.ears.hears(h.T, token))
		}
	}
}

func (h *history) compare(what string, c lock.Claim, want lock.State, a lock.Answer) {
	if a.Err != nil || a.State != want {
		h.Fatalf("%s %+v: %s, %v; the model says %s", what, c, a.State, a.Err, want)
	}
	m := h.keys[c.Key]
	if want == lock.Granted {
		h.granted(m, m.of(c.Owner), a.Fence)
	}
	if want == lock.Waiting {
		if ahead := m.ahead(c.Owner); a.Ahead != ahead {
			h.Fatalf("%s %+v: %d ahead; the model says %d", what, c, a.Ahead, ahead)
		}
		if a.Fence < m.fence {
			h.Fatalf("%s %+v: the latest fence is said to be %d and was %d", what, c, a.Fence, m.fence)
		}
	}
}

func (m *model) ahead(owner string) (n int) {
	for _, c := range m.claims {
		if c.owner == owner {
			return n
		}
		if !c.held {
			n++
		}
	}
	return n
}

// granted checks the fence of a claim: new ones grow, and each keeps its own.
func (h *history) granted(m *model, c *mclaim, fence uint64) {
	if c.fence == 0 && fence <= m.fence {
		h.Fatalf("%s is granted with fence %d after %d", c.owner, fence, m.fence)
	}
	if c.fence > 0 && (fence < c.fence || fence > c.fence && !h.f.Quorum) {
		h.Fatalf("the fence of %s became %d, was %d", c.owner, fence, c.fence)
	}
	c.fence, m.fence = fence, max(m.fence, fence)
}

// invariants hold whatever the model does.
func (h *history) invariants() {
	for key, m := range h.keys {
		var taken, most int64
		for _, c := range m.claims {
			if c.held {
				taken, most = taken+c.need, max(most, c.limit)
			}
		}
		if taken > most {
			h.Fatalf("%d permits of %s are held, of %d", taken, key, most)
		}
	}
}

// end releases everything; then the keys are free.
func (h *history) end() {
	for _, c := range h.used {
		if m := h.keys[c.Key]; m.carrying(c) != nil {
			have := m.carrying(c)
			have.tokens = slices.DeleteFunc(have.tokens, func(t string) bool { return t == c.Token })
			if len(have.tokens) == 0 {
				m.drop(have)
			}
			if a := h.b.Release(context.Background(), []lock.Claim{c})[0]; a.Err != nil {
				h.Fatalf("release %+v: %v", c, a.Err)
			}
		}
	}
	for key := range h.keys {
		c := claim(key, "last", h.names.next(), all, all, 0)
		if a := h.b.Acquire(context.Background(), c); a.State != lock.Granted {
			h.Fatalf("%s is not free after all: %s, %v", key, a.State, a.Err)
		}
		h.b.Release(context.Background(), []lock.Claim{c})
	}
}
