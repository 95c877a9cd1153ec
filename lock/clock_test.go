package lock_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"rushgate/lock"
)

// Everything here runs in time that stands still unless all wait
// (testing/synctest), so that it can be said exactly when something happens.

// mute is a backend that can be cut off.
type mute struct {
	lock.Backend
	dead  atomic.Bool  // what is asked is not carried out, and not answered
	deaf  atomic.Bool  // it is carried out, and not answered
	renew atomic.Int64 // times
}

func (m *mute) wait(ctx context.Context) lock.Answer {
	<-ctx.Done()
	return lock.Answer{Err: errors.Join(lock.ErrUnavailable, ctx.Err())}
}

func (m *mute) Acquire(ctx context.Context, c lock.Claim) lock.Answer {
	if m.dead.Load() {
		return m.wait(ctx)
	}
	a := m.Backend.Acquire(ctx, c)
	if m.deaf.Load() {
		return m.wait(ctx)
	}
	return a
}

func (m *mute) Renew(ctx context.Context, claims []lock.Claim) []lock.Answer {
	m.renew.Add(1)
	return m.each(ctx, claims, m.Backend.Renew)
}

func (m *mute) Release(ctx context.Context, claims []lock.Claim) []lock.Answer {
	return m.each(ctx, claims, m.Backend.Release)
}

func (m *mute) each(ctx context.Context, claims []lock.Claim, f func(context.Context, []lock.Claim) []lock.Answer) []lock.Answer {
	answers := make([]lock.Answer, len(claims))
	if !m.dead.Load() {
		answers = f(ctx, claims)
	}
	if m.dead.Load() || m.deaf.Load() {
		for i := range answers {
			answers[i] = m.wait(ctx)
		}
	}
	return answers
}

// bubble runs a test in such a time, on a fresh backend.
func bubble(t *testing.T, opts lock.Options, test func(t *testing.T, m *mute, l *lock.Locker)) {
	synctest.Test(t, func(t *testing.T) {
		m := &mute{Backend: lock.NewMemory()}
		l, err := lock.New(m, opts)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		test(t, m, l)
	})
}

func held(t *testing.T, h *lock.Held, err error) *lock.Held {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestALeaseThatIsNotRenewedEndsHereFirst(t *testing.T) {
	opts := lock.Options{Lease: 9 * time.Second}
	bubble(t, opts, func(t *testing.T, m *mute, l *lock.Locker) {
		x, err := l.Lock(t.Context(), "k")
		h := held(t, x, err)
		<-time.After(10 * opts.Lease) // renewed thirty times
		if n := m.renew.Load(); !h.Valid() || n < 28 || n > 30 {
			t.Fatalf("valid %t after %d renewals", h.Valid(), n)
		}
		<-time.After(time.Second) // between two of them
		m.dead.Store(true)
		before := time.Now()
		<-h.Context().Done()
		// The last renewal was a second ago, or up to a third of a lease.
		lasted := time.Since(before)
		if lasted > lock.Lasting(opts.Lease)-time.Second || lasted < lock.Lasting(opts.Lease)-opts.Lease/3 {
			t.Fatalf("it lasted for another %s", lasted)
		}
		if err := context.Cause(h.Context()); !errors.Is(err, lock.ErrLost) {
			t.Fatal(err)
		}
		m.dead.Store(false)
		x, err = l.TryLock(t.Context(), "k")
		if x != nil || !errors.Is(err, lock.ErrHeld) {
			t.Fatal("the server's lease ended before the holder's own", err)
		}
		if err := h.Unlock(t.Context()); !errors.Is(err, lock.ErrLost) {
			t.Fatal(err)
		}
	})
}

func TestWhatIsUnlockedIsNotRenewed(t *testing.T) {
	opts := lock.Options{Lease: 9 * time.Second}
	bubble(t, opts, func(t *testing.T, m *mute, l *lock.Locker) {
		x, err := l.Lock(t.Context(), "k")
		h := held(t, x, err)
		<-time.After(opts.Lease - time.Second) // between two renewals
		if err := h.Unlock(t.Context()); err != nil {
			t.Fatal(err)
		}
		before := m.renew.Load()
		<-time.After(10 * opts.Lease)
		if after := m.renew.Load(); before == 0 || after > before {
			t.Fatalf("renewed %d times, and then %d", before, after)
		}
	})
}

// A renewal that is answered late, or never, does not lengthen what it was sent
// for: the lease counts from before the request.
func TestALeaseCountsFromBeforeItWasAsked(t *testing.T) {
	opts := lock.Options{Lease: 9 * time.Second, Timeout: 4 * time.Second}
	bubble(t, opts, func(t *testing.T, m *mute, l *lock.Locker) {
		slow := &slowly{Backend: m, by: 3 * time.Second}
		l2, err := lock.New(slow, opts)
		if err != nil {
			t.Fatal(err)
		}
		defer l2.Close()
		x, err := l2.TryLock(t.Context(), "k")
		h := held(t, x, err)
		if left := h.Left(); left > lock.Lasting(opts.Lease)-slow.by {
			t.Fatalf("%s are left of a lease that was asked for 3s ago", left)
		}
	})
}

// slowly answers late.
type slowly struct {
	lock.Backend
	by time.Duration
}

func (s *slowly) Acquire(ctx context.Context, c lock.Claim) lock.Answer {
	a := s.Backend.Acquire(ctx, c)
	<-time.After(s.by)
	return a
}

// The goroutine that renews gets no processor, and wakes up too late: whoever
// looks is told all the same.
func TestAPauseIsSeenByTheClock(t *testing.T) {
	bubble(t, lock.Options{Lease: 9 * time.Second}, func(t *testing.T, m *mute, l *lock.Locker) {
		x, err := l.Lock(t.Context(), "k")
		h := held(t, x, err)
		ctx := h.Context()
		lock.Stall(h)
		<-time.After(lock.Lasting(9*time.Second) - time.Millisecond)
		if ctx.Err() != nil || !h.Valid() {
			t.Fatal("it has ended too early")
		}
		<-time.After(time.Millisecond)
		if h.Valid() || ctx.Err() == nil || !errors.Is(context.Cause(ctx), lock.ErrLost) {
			t.Fatal("a lease that is over counts as held")
		}
		select {
		case <-ctx.Done():
		default:
			t.Fatal("Done is not closed")
		}
		if err := h.Unlock(t.Context()); !errors.Is(err, lock.ErrLost) {
			t.Fatal(err)
		}
	})
}

// An Acquire that was carried out and not answered is unknown: the caller has
// nothing, and neither has anybody else for longer than it takes to give it back.
func TestWhatIsUnknownIsGivenBack(t *testing.T) {
	opts := lock.Options{Lease: 9 * time.Second}
	bubble(t, opts, func(t *testing.T, m *mute, l *lock.Locker) {
		m.deaf.Store(true)
		if _, err := l.TryLock(t.Context(), "k"); !errors.Is(err, lock.ErrUnavailable) {
			t.Fatal(err)
		}
		m.deaf.Store(false)
		began := time.Now()
		x, err := l.Lock(t.Context(), "k")
		h := held(t, x, err)
		if took := time.Since(began); took > 2*time.Second {
			t.Fatalf("stranded for %s", took)
		}
		if err := h.Unlock(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}

func TestWhatNobodyCanGiveBackEndsWithItsLease(t *testing.T) {
	opts := lock.Options{Lease: 9 * time.Second}
	bubble(t, opts, func(t *testing.T, m *mute, l *lock.Locker) {
		other, err := lock.New(m.Backend, opts)
		if err != nil {
			t.Fatal(err)
		}
		defer other.Close()
		x, err := l.Lock(t.Context(), "k")
		h := held(t, x, err)
		m.dead.Store(true)
		if err := h.Unlock(t.Context()); !errors.Is(err, lock.ErrUnavailable) {
			t.Fatal(err)
		}
		began := time.Now()
		x, err = other.Lock(t.Context(), "k")
		held(t, x, err)
		if took := time.Since(began); took > opts.Lease {
			t.Fatalf("stranded for %s", took)
		}
	})
}

// The same call asks again after a lost answer, and gets what it has.
func TestALostAnswerIsAskedForAgain(t *testing.T) {
	bubble(t, lock.Options{}, func(t *testing.T, m *mute, l *lock.Locker) {
		m.deaf.Store(true)
		time.AfterFunc(2500*time.Millisecond, func() { m.deaf.Store(false) })
		x, err := l.Lock(t.Context(), "k")
		h := held(t, x, err)
		if h.Fence() != 1 {
			t.Fatalf("it was granted %d times", h.Fence())
		}
	})
}

// A wait is bounded also when nobody answers, and says why.
func TestASilentServerIsToldFromAHeldLock(t *testing.T) {
	bubble(t, lock.Options{MaxWait: 5 * time.Second}, func(t *testing.T, m *mute, l *lock.Locker) {
		m.dead.Store(true)
		began := time.Now()
		_, err := l.Lock(t.Context(), "k")
		if !errors.Is(err, lock.ErrTimeout) || !errors.Is(err, lock.ErrUnavailable) || time.Since(began) > 7*time.Second {
			t.Fatalf("%v after %s", err, time.Since(began))
		}
	})
}

func TestOptionsAreChecked(t *testing.T) {
	for _, o := range []lock.Options{
		{Lease: time.Millisecond}, {Lease: 2 * time.Hour}, {Lease: time.Second, Timeout: time.Second}, {Timeout: -1},
		{MaxWait: -1}, {MaxWait: 48 * time.Hour}, {MaxWaiters: -1}, {MaxWaiters: lock.MaxLine + 1},
	} {
		if _, err := lock.New(lock.NewMemory(), o); !errors.Is(err, lock.ErrInvalid) {
			t.Errorf("%+v: %v", o, err)
		}
	}
	if _, err := lock.New(nil, lock.Options{}); !errors.Is(err, lock.ErrInvalid) {
		t.Error(err)
	}
}
