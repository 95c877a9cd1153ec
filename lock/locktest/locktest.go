// Package locktest is the suite that every lock.Backend passes: its contract
// call by call, random histories against a dumb model, what a Locker makes of
// it, networks that lose things, and processes that are stopped and killed.
package locktest

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"rushgate/lock"
)

// Factory makes what is tested.
type Factory struct {
	// New returns a backend without any claims, which ends with the test.
	New func(tb testing.TB) lock.Backend

	// Expire ends the lease of a claim of a backend at once, as time would. The
	// claim stays written down until somebody looks.
	Expire func(tb testing.TB, b lock.Backend, key, owner string)

	// Quorum says that several servers are behind the backend: claims do not
	// wait there, but ask again, in no order; and a claim that is asked for
	// again may have a greater fence.
	Quorum bool

	// Servers are those behind a backend that is a quorum, of which it was made.
	Servers func(b lock.Backend) []*Server

	// Where tells a child of the same test binary how to reach a backend: see
	// Child. It is nil for one in the memory of this process, which has none.
	Where func(b lock.Backend) string

	// Wire returns a fresh backend behind a network, which ends with the test. It is
	// nil where there is none, or more than one.
	Wire func(tb testing.TB) Wire
}

// Run runs the whole suite.
func Run(t *testing.T, f Factory) {
	t.Run("Contract", func(t *testing.T) { contract(t, f) })
	t.Run("Histories", func(t *testing.T) { histories(t, f) })
	t.Run("Locker", func(t *testing.T) { lockers(t, f) })
	t.Run("Waiting", func(t *testing.T) { waiting(t, f) })
	t.Run("OneOfMany", func(t *testing.T) { oneOfMany(t, f) })
	t.Run("Exclusion", func(t *testing.T) { exclusion(t, f) })
	if f.Wire != nil {
		t.Run("Network", func(t *testing.T) { network(t, f) })
	}
	if f.Where != nil {
		t.Run("Processes", func(t *testing.T) { processes(t, f) })
	}
}

// generous bounds a wait for something that comes soon, on a machine that has
// other things to do.
const generous = time.Minute

// InTime fills in a lease and a Timeout that are enough on a machine that stands
// still for some seconds now and then. A test that waits for the end of a lease names
// its own, and asks nothing of its holder for which it would have to be in time.
func InTime(o lock.Options) lock.Options {
	if o.Lease == 0 {
		o.Lease = time.Minute
	}
	if o.Timeout == 0 {
		o.Timeout = min(20*time.Second, o.Lease/2-time.Millisecond)
	}
	return o
}

// tokens makes all tokens of the suite's own claims differ.
type tokens struct {
	node string
	last atomic.Int64
}

func (n *tokens) next() string { return fmt.Sprintf("%s.%d", n.node, n.last.Add(1)) }

// claim is one that nothing disturbs.
func claim(key, owner, token string, need, limit int64, line int) lock.Claim {
	return lock.Claim{Key: key, Owner: owner, Token: token, Need: need, Limit: limit, Lease: lock.MaxLease, Line: line}
}

// spy counts what a backend is asked and answers.
type spy struct {
	lock.Backend
	mu      sync.Mutex
	changed chan struct{}
	count   map[string]int  // by method and state: "acquire waiting"
	queued  map[string]bool // tokens that were told to wait
}

// newcomer counts claims that were told to wait, each once however often it asks.
const newcomer = "newcomer"

func newSpy(b lock.Backend) *spy {
	return &spy{Backend: b, changed: make(chan struct{}), count: map[string]int{}, queued: map[string]bool{}}
}

func (s *spy) note(method string, answers ...lock.Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range answers {
		s.count[method+" "+a.State.String()]++
	}
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *spy) Acquire(ctx context.Context, c lock.Claim) lock.Answer {
	a := s.Backend.Acquire(ctx, c)
	s.mu.Lock()
	if (a.State == lock.Waiting || a.State == lock.Taken) && !s.queued[c.Token] {
		s.queued[c.Token] = true
		s.count[newcomer]++
	}
	s.mu.Unlock()
	s.note("acquire", a)
	return a
}

func (s *spy) Renew(ctx context.Context, claims []lock.Claim) []lock.Answer {
	a := s.Backend.Renew(ctx, claims)
	s.note("renew", a...)
	return a
}

func (s *spy) Release(ctx context.Context, claims []lock.Claim) []lock.Answer {
	a := s.Backend.Release(ctx, claims)
	s.note("release", a...)
	return a
}

// seen waits until something was answered n times.
func (s *spy) seen(tb testing.TB, what string, n int) {
	tb.Helper()
	late := time.After(generous)
	for {
		s.mu.Lock()
		have, changed := s.count[what], s.changed
		s.mu.Unlock()
		if have >= n {
			return
		}
		select {
		case <-changed:
		case <-late:
			tb.Fatalf("%q was seen %d times, not %d", what, have, n)
		}
	}
}

func (s *spy) times(what string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.count[what]
}

// newLocker returns a Locker that ends with the test.
func newLocker(tb testing.TB, b lock.Backend, opts lock.Options) *lock.Locker {
	tb.Helper()
	l, err := lock.New(b, InTime(opts))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := l.Close(); err != nil {
			tb.Error(err)
		}
	})
	return l
}

// ear collects the grants of a node that are told.
type ear struct {
	mu   sync.Mutex
	told map[string]uint64
	news chan struct{}
}

// listen hears until the end of the test.
func listen(tb testing.TB, b lock.Backend, node string) *ear {
	tb.Helper()
	e := &ear{told: map[string]uint64{}, news: make(chan struct{}, 1)}
	ctx, cancel := context.WithCancel(context.Background())
	ready, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		_ = b.Listen(ctx, node, sync.OnceFunc(func() { close(ready) }), e.hear)
	}()
	tb.Cleanup(func() { cancel(); <-over })
	select {
	case <-ready:
	case <-time.After(generous):
		tb.Fatal("nobody listens")
	}
	return e
}

func (e *ear) hear(g lock.Grant) {
	e.mu.Lock()
	e.told[g.Token] = g.Fence
	e.mu.Unlock()
	select {
	case e.news <- struct{}{}:
	default:
	}
}

// hears waits until a token was granted, and returns its fence.
func (e *ear) hears(tb interface {
	Helper()
	Fatalf(string, ...any)
}, token string) uint64 {
	tb.Helper()
	late := time.After(generous)
	for {
		e.mu.Lock()
		fence := e.told[token]
		e.mu.Unlock()
		if fence > 0 {
			return fence
		}
		select {
		case <-e.news:
		case <-late:
			tb.Fatalf("nobody was told that %s is granted", token)
			return 0
		}
	}
}

// nodeOf makes a node name of a test's.
func nodeOf(tb testing.TB) string {
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return -1
	}, tb.Name())
	return name[max(0, len(name)-20):]
}
