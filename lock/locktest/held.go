package locktest

import (
	"context"
	"errors"
	"testing"
	"time"

	"rushgate/lock"
)

// Take takes a lock, when it is to be had.
func Take(t *testing.T, l *lock.Locker, key string) *lock.Held {
	t.Helper()
	h, err := l.Lock(t.Context(), key, lock.WithMaxWait(generous))
	must(t, err)
	return h
}

// Unlock gives back a lock that is still held.
func Unlock(t *testing.T, h *lock.Held) {
	t.Helper()
	must(t, h.Unlock(t.Context()))
}

// Lost waits until a lock is lost.
func Lost(t *testing.T, h *lock.Held) {
	t.Helper()
	ended(t, h, lock.ErrLost)
}

// ended waits for the end of a held context and checks its cause.
func ended(t *testing.T, h *lock.Held, want error) {
	t.Helper()
	select {
	case <-h.Context().Done():
	case <-time.After(generous):
		t.Fatal("the context goes on")
	}
	if cause := context.Cause(h.Context()); !errors.Is(cause, want) || h.Valid() {
		t.Fatalf("cause %v, valid %t; want %v", cause, h.Valid(), want)
	}
}

// Renewed waits until a lock is renewed after this moment.
func Renewed(t *testing.T, h *lock.Held) {
	t.Helper()
	late := time.After(generous)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for before := h.Left(); ; {
		select {
		case <-tick.C:
		case <-h.Context().Done():
			t.Fatal(context.Cause(h.Context()))
		case <-late:
			t.Fatal("it is not renewed")
		}
		left := h.Left()
		if left > before {
			return
		}
		before = left
	}
}

// After takes the lock that somebody else has lost, and checks that the other
// one cannot do it any harm.
func After(t *testing.T, h *lock.Held, l *lock.Locker) {
	t.Helper()
	next := Take(t, l, h.Key())
	if next.Fence() <= h.Fence() {
		t.Fatalf("a fence of %d after %d", next.Fence(), h.Fence())
	}
	if err := h.Unlock(t.Context()); !errors.Is(err, lock.ErrLost) {
		t.Fatal(err)
	}
	if _, err := l.TryLock(t.Context(), h.Key()); !errors.Is(err, lock.ErrHeld) {
		t.Fatalf("the late holder has released another's lock: %v", err)
	}
	Unlock(t, next)
}

// Queued waits until somebody waits for a key: then a line of one is full.
func Queued(t *testing.T, b lock.Backend, key string) {
	t.Helper()
	names := tokens{node: nodeOf(t)}
	late := time.After(generous)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		c := claim(key, "curious", names.next(), all, all, 1)
		switch a := b.Acquire(t.Context(), c); {
		case a.Err != nil:
			t.Fatal(a.Err)
		case a.State == lock.Full:
			return
		}
		b.Release(t.Context(), []lock.Claim{c})
		select {
		case <-tick.C:
		case <-late:
			t.Fatal("nobody waits")
		}
	}
}
