package lock_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"rushgate/lock"
)

// The context of several locks looks at the clock for each of them, not only for
// the one that was taken last.
func TestTheContextOfAllLooksAtTheClockForEach(t *testing.T) {
	opts := lock.Options{Lease: 9 * time.Second}
	bubble(t, opts, func(t *testing.T, m *mute, l *lock.Locker) {
		all, err := l.LockAll(t.Context(), []string{"a", "b"})
		if err != nil {
			t.Fatal(err)
		}
		lock.Stall(all.Held("a"))
		<-time.After(2 * opts.Lease) // b is renewed, a is not
		if err := all.Context().Err(); err == nil || all.Valid() {
			t.Fatal("the context goes on", all.Valid())
		}
		if err := context.Cause(all.Context()); !errors.Is(err, lock.ErrLost) {
			t.Fatal(err)
		}
	})
}

// An owner that has lost one of two holds, and gives back both, has the key no more.
func TestALostHoldIsGivenBackToo(t *testing.T) {
	opts := lock.Options{Lease: 9 * time.Second}
	bubble(t, opts, func(t *testing.T, m *mute, l *lock.Locker) {
		x, err := l.Lock(t.Context(), "k", lock.As("me"))
		stays := held(t, x, err)
		x, err = l.Lock(t.Context(), "k", lock.As("me"), lock.WithoutRenewal())
		ends := held(t, x, err)
		<-time.After(2 * opts.Lease)
		if err := ends.Unlock(t.Context()); !errors.Is(err, lock.ErrLost) {
			t.Fatal(err)
		}
		if err := stays.Unlock(t.Context()); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		x, err = l.TryLock(t.Context(), "k")
		held(t, x, err)
	})
}
