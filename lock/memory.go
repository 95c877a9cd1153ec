package lock

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"
)

// Memory is a Backend in the memory of this process: for programs of one
// process that may become several, and for tests. Make it by NewMemory.
type Memory struct {
	now func() time.Time

	mu    sync.Mutex
	fence uint64 // of the latest grant of any key, so that an idle key costs nothing
	keys  map[string]*line
	ears  map[*ear]struct{}
}

// line is one key: who has it, and who waits, in order.
type line struct{ held, waiting []*standing }

// standing is a claim that there is.
type standing struct {
	owner       string
	need, limit int64
	ends        time.Time
	fence       uint64
	tokens      []string
}

// ear is one Listen.
type ear struct {
	node string
	news chan Grant
}

// NewMemory returns an empty one.
func NewMemory() *Memory {
	return &Memory{now: time.Now, keys: map[string]*line{}, ears: map[*ear]struct{}{}}
}

// Acquire implements Backend.
func (m *Memory) Acquire(ctx context.Context, c Claim) Answer {
	if err := ctx.Err(); err != nil {
		return Answer{Err: err}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	l, now := m.look(c.Key)
	defer m.forget(c.Key)
	if s := l.find(c.Owner); s != nil {
		if !slices.Contains(s.tokens, c.Token) {
			switch {
			case s.fence == 0 && c.Line == 0:
				return l.refuse(Taken, now)
			case c.Need > s.need:
				return l.refuse(Denied, now)
			case len(s.tokens) >= MaxHolds:
				return l.refuse(Full, now)
			}
			s.tokens = append(s.tokens, c.Token)
		}
		return m.keep(l, s, &c, now)
	}
	s := &standing{owner: c.Owner, need: c.Need, limit: c.Limit, ends: now.Add(c.Lease), tokens: []string{c.Token}}
	switch fits := len(l.waiting) == 0 && l.fits(s); {
	case fits && len(l.held) < MaxHolders:
		m.grant(l, s)
	case !fits && c.Line == 0:
		return l.refuse(Taken, now)
	case fits || len(l.waiting) >= c.Line:
		return l.refuse(Full, now)
	default:
		l.waiting = append(l.waiting, s)
	}
	return m.keep(l, s, &c, now)
}

// Renew implements Backend.
func (m *Memory) Renew(ctx context.Context, claims []Claim) []Answer {
	return m.each(ctx, claims, func(l *line, s *standing, c *Claim, now time.Time) Answer {
		m.fence = max(m.fence, c.Fence)
		if s.fence > 0 {
			s.fence = max(s.fence, c.Fence)
		}
		return m.keep(l, s, c, now)
	})
}

// Release implements Backend.
func (m *Memory) Release(ctx context.Context, claims []Claim) []Answer {
	return m.each(ctx, claims, func(l *line, s *standing, c *Claim, now time.Time) Answer {
		a := m.keep(l, s, &Claim{}, now)
		s.tokens = slices.DeleteFunc(s.tokens, func(t string) bool { return t == c.Token })
		if len(s.tokens) == 0 {
			l.drop(func(other *standing) bool { return other == s })
			m.serve(l)
		}
		return a
	})
}

// each does something with every claim that there is.
func (m *Memory) each(ctx context.Context, claims []Claim, f func(*line, *standing, *Claim, time.Time) Answer) []Answer {
	m.mu.Lock()
	defer m.mu.Unlock()
	answers := make([]Answer, len(claims))
	for i := range claims {
		c := &claims[i]
		if answers[i].Err = ctx.Err(); answers[i].Err != nil {
			continue
		}
		l, now := m.look(c.Key)
		if s := l.find(c.Owner); s != nil && slices.Contains(s.tokens, c.Token) {
			answers[i] = f(l, s, c, now)
		} else {
			answers[i] = l.refuse(Gone, now)
		}
		m.forget(c.Key)
	}
	return answers
}

// Listen implements Backend.
func (m *Memory) Listen(ctx context.Context, node string, ready func(), granted func(Grant)) error {
	e := &ear{node: node, news: make(chan Grant, 1024)}
	m.mu.Lock()
	m.ears[e] = struct{}{}
	m.mu.Unlock()
	defer func() {
		m.mu.Lock()
		delete(m.ears, e)
		m.mu.Unlock()
	}()
	ready()
	for {
		select {
		case g := <-e.news:
			granted(g)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// look returns a key, without the claims whose lease has ended.
func (m *Memory) look(key string) (*line, time.Time) {
	l, now := m.keys[key], m.now()
	if l == nil {
		l = &line{}
		m.keys[key] = l
	}
	if l.drop(func(s *standing) bool { return !s.ends.After(now) }) {
		m.serve(l)
	}
	return l, now
}

// forget lets go of a key that nobody uses.
func (m *Memory) forget(key string) {
	if l := m.keys[key]; len(l.held)+len(l.waiting) == 0 {
		delete(m.keys, key)
	}
}

// keep prolongs a claim and says how it stands.
func (m *Memory) keep(l *line, s *standing, c *Claim, now time.Time) Answer {
	if ends := now.Add(c.Lease); ends.After(s.ends) {
		s.ends = ends
	}
	if s.fence > 0 {
		return Answer{State: Granted, Fence: s.fence, Left: l.left(now)}
	}
	return Answer{State: Waiting, Fence: m.fence, Left: l.left(now), Ahead: slices.Index(l.waiting, s)}
}

func (m *Memory) grant(l *line, s *standing) {
	m.fence++
	s.fence = m.fence
	l.held = append(l.held, s)
}

// serve grants those at the head of the line until one does not fit.
func (m *Memory) serve(l *line) {
	for len(l.waiting) > 0 && l.fits(l.waiting[0]) {
		s := l.waiting[0]
		l.waiting = l.waiting[1:]
		m.grant(l, s)
		for _, t := range s.tokens {
			m.tell(Grant{Token: t, Fence: s.fence})
		}
	}
}

func (m *Memory) tell(g Grant) {
	node, _, _ := strings.Cut(g.Token, ".")
	for e := range m.ears {
		if e.node != node {
			continue
		}
		select {
		case e.news <- g:
		default: // lost, as on a network: whoever waits asks again
		}
	}
}

func (l *line) find(owner string) *standing {
	for _, those := range [][]*standing{l.held, l.waiting} {
		for _, s := range those {
			if s.owner == owner {
				return s
			}
		}
	}
	return nil
}

func (l *line) fits(s *standing) bool {
	taken := s.need
	for _, h := range l.held {
		taken += h.need
	}
	return taken <= s.limit
}

func (l *line) drop(which func(*standing) bool) bool {
	before := len(l.held) + len(l.waiting)
	l.held, l.waiting = slices.DeleteFunc(l.held, which), slices.DeleteFunc(l.waiting, which)
	return len(l.held)+len(l.waiting) < before
}

// left is until the first lease ends.
func (l *line) left(now time.Time) time.Duration {
	var left time.Duration
	for _, those := range [][]*standing{l.held, l.waiting} {
		for _, s := range those {
			if d := s.ends.Sub(now); left == 0 || d < left {
				left = d
			}
		}
	}
	return left
}

func (l *line) refuse(why State, now time.Time) Answer { return Answer{State: why, Left: l.left(now)} }
