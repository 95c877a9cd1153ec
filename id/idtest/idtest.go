// Package idtest is the suite that every id.Store passes, on a real server.
package idtest

import (
	"context"
	"crypto/rand"
	"errors"
	"testing"
	"time"

	"rushgate/id"
)

// Register is one register of numbers, new and empty.
type Register struct {
	// Open returns a store on the register, with a client of its own where that
	// matters. It may be called by several goroutines.
	Open func() id.Store

	// Forget makes the store forget the register. Windows that it grants
	// afterwards must not overlap those that it granted before, to nodes whose TTL
	// is at most MinTTL. nil: the store cannot do that.
	Forget func()
}

// Run runs the suite. register makes a new one for a test.
func Run(t *testing.T, register func(testing.TB) Register) {
	for name, test := range map[string]func(*testing.T, Register){
		"numbers":    numbers,
		"renewal":    renewal,
		"release":    release,
		"twice":      twice,
		"refusals":   refusals,
		"bounds":     bounds,
		"contention": contention,
		"nodes":      nodes,
		"pause":      pause,
		"forgetting": forgetting,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, register(t))
		})
	}
}

// request is that of a new owner.
func request(nodeBits int, ttl time.Duration) id.Request {
	return id.Request{Owner: rand.Text(), Layout: id.Standard(nodeBits), TTL: ttl,
		ClockMs: time.Now().UnixMilli(), SkewMs: time.Minute.Milliseconds()}
}

// granted takes the answer of a store that must be a lease.
func granted(t *testing.T) func(id.Lease, error) id.Lease {
	return func(l id.Lease, err error) id.Lease {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
}

// pollEvery is how often is asked whether a lease has run out.
const pollEvery = 5 * time.Millisecond

// eventually asks for a number until one is free.
func eventually(t *testing.T, s id.Store, q id.Request) id.Lease {
	t.Helper()
	for ; ; <-time.After(pollEvery) {
		l, err := s.Acquire(t.Context(), q)
		if !errors.Is(err, id.ErrNoNumber) {
			return granted(t)(l, err)
		}
	}
}

// numbers are given out once each, and then no more.
func numbers(t *testing.T, r Register) {
	s, ctx := r.Open(), t.Context()
	taken := map[int]bool{}
	for range 4 {
		q := request(2, time.Minute)
		l := granted(t)(s.Acquire(ctx, q))
		if taken[l.Number] || l.Number < 0 || l.Number > 3 || l.Owner != q.Owner {
			t.Fatalf("%+v after %v", l, taken)
		}
		if l.FromMs < l.NowMs || l.UntilMs-l.FromMs != q.TTL.Milliseconds() {
			t.Errorf("the window is %d to %d, at %d", l.FromMs, l.UntilMs, l.NowMs)
		}
		taken[l.Number] = true
	}
	if _, err := s.Acquire(ctx, request(2, time.Minute)); !errors.Is(err, id.ErrNoNumber) {
		t.Errorf("a fifth of four: %v", err)
	}
}

// renewal extends a window, also one that is over, until somebody else has the
// number.
func renewal(t *testing.T, r Register) {
	s, ctx := r.Open(), t.Context()
	a, b := request(0, id.MinTTL), request(0, id.MinTTL)
	first := granted(t)(s.Acquire(ctx, a))
	for l := first; l.NowMs <= first.UntilMs; {
		next := granted(t)(s.Renew(ctx, 0, a))
		if next.FromMs != first.FromMs || next.UntilMs < l.UntilMs || next.UntilMs < next.NowMs+id.MinTTL.Milliseconds() {
			t.Fatalf("%+v after %+v", next, l)
		}
		l = next
	}
	// Two windows of b, one after the other, with nobody between them.
	lb := eventually(t, s, b)
	for old := lb; lb.NowMs <= old.UntilMs; {
		if _, err := s.Renew(ctx, 0, a); !errors.Is(err, id.ErrLost) {
			t.Fatalf("the number of somebody else: %v", err)
		}
		lb = granted(t)(s.Acquire(ctx, b))
	}
	if _, err := s.Renew(ctx, 0, request(0, id.MinTTL)); !errors.Is(err, id.ErrLost) {
		t.Errorf("by somebody who never had it: %v", err)
	}
}

// release frees a number at once, from the end of what was used of it.
func release(t *testing.T, r Register) {
	s, ctx := r.Open(), t.Context()
	a, b := request(0, time.Minute), request(0, time.Minute)
	l := granted(t)(s.Acquire(ctx, a))
	if err := s.Release(ctx, 0, b.Owner, l.FromMs); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Acquire(ctx, b); !errors.Is(err, id.ErrNoNumber) {
		t.Fatalf("released by somebody else: %v", err)
	}
	used := l.FromMs + 40_000 // ids may run ahead of the clock
	for range 2 {             // the second time, it is not there any more
		if err := s.Release(ctx, 0, a.Owner, used); err != nil {
			t.Fatal(err)
		}
	}
	next := granted(t)(s.Acquire(ctx, b))
	if next.FromMs != used {
		t.Errorf("the next window begins at %d, the last one was used until %d", next.FromMs, used)
	}
	if err := s.Release(ctx, 0, b.Owner, next.UntilMs+1_000_000); err != nil {
		t.Fatal(err)
	}
	if last := granted(t)(s.Acquire(ctx, a)); last.FromMs != next.UntilMs {
		t.Errorf("a window begins at %d, the last one ended at %d", last.FromMs, next.UntilMs)
	}
}

// twice the same question is answered with the same number.
func twice(t *testing.T, r Register) {
	s, ctx := r.Open(), t.Context()
	q := request(4, time.Minute)
	a := granted(t)(s.Acquire(ctx, q))
	b := granted(t)(r.Open().Acquire(ctx, q))
	if a.Number != b.Number || a.FromMs != b.FromMs || b.UntilMs < a.UntilMs {
		t.Errorf("%+v, then %+v", a, b)
	}
	if c := granted(t)(s.Acquire(ctx, request(4, time.Minute))); c.Number == a.Number {
		t.Errorf("two owners have number %d", c.Number)
	}
}

// refusals change nothing.
func refusals(t *testing.T, r Register) {
	s, ctx := r.Open(), t.Context()
	for _, off := range []time.Duration{-2 * time.Minute, 2 * time.Minute, 400 * 24 * time.Hour} {
		q := request(0, time.Minute)
		q.ClockMs += off.Milliseconds()
		if _, err := s.Acquire(ctx, q); !errors.Is(err, id.ErrClock) {
			t.Fatalf("a clock that is off by %s: %v", off, err)
		}
	}
	q := request(0, time.Minute)
	l := granted(t)(s.Acquire(ctx, q)) // the number is still there
	wrong := q
	wrong.ClockMs -= time.Hour.Milliseconds()
	if _, err := s.Renew(ctx, 0, wrong); !errors.Is(err, id.ErrClock) {
		t.Errorf("renewed with a wrong clock: %v", err)
	}
	for _, other := range []id.Layout{id.Standard(1), {EpochMs: 1, StepBits: 1, StartBits: 1}} {
		wrong = q
		wrong.Layout = other
		if _, err := s.Acquire(ctx, wrong); !errors.Is(err, id.ErrLayout) {
			t.Errorf("acquired with another layout: %v", err)
		}
		if _, err := s.Renew(ctx, 0, wrong); !errors.Is(err, id.ErrLayout) {
			t.Errorf("renewed with another layout: %v", err)
		}
	}
	if again := granted(t)(s.Acquire(ctx, q)); again.Number != l.Number || again.FromMs != l.FromMs {
		t.Errorf("%+v, then %+v", l, again)
	}
}

// bounds are kept before the server is asked.
func bounds(t *testing.T, r Register) {
	s := r.Open()
	for _, spoil := range []func(*id.Request){
		func(q *id.Request) { q.Owner = "" },
		func(q *id.Request) { q.Owner = "a b" },
		func(q *id.Request) { q.Owner += q.Owner + q.Owner },
		func(q *id.Request) { q.TTL = 0 },
		func(q *id.Request) { q.TTL = id.MinTTL - time.Millisecond },
		func(q *id.Request) { q.TTL = id.MaxTTL + time.Millisecond },
		func(q *id.Request) { q.TTL += time.Microsecond },
		func(q *id.Request) { q.SkewMs = 0 },
		func(q *id.Request) { q.Layout = id.Layout{} },
	} {
		q := request(0, time.Minute)
		spoil(&q)
		if _, err := s.Acquire(t.Context(), q); err == nil || errors.Is(err, id.ErrNoNumber) {
			t.Errorf("%+v: acquired, %v", q, err)
		}
		if _, err := s.Renew(t.Context(), 0, q); err == nil || errors.Is(err, id.ErrLost) {
			t.Errorf("%+v: renewed, %v", q, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Acquire(ctx, request(0, time.Minute)); err == nil && r.Forget != nil {
		t.Error("acquired under a context that is over")
	}
}
