package redis_test

import (
	"errors"
	"testing"
	"time"

	"rushgate/internal/testenv"
	"rushgate/lock"
	"rushgate/lock/locktest"
)

// short is for locks that are to be lost soon.
func short() lock.Options { return lock.Options{Lease: 900 * time.Millisecond} }

// renewing is for locks that are renewed soon, and are not lost before.
func renewing() lock.Options { return lock.Options{Lease: 6 * time.Second} }

// generous bounds a wait for something that comes soon, on a machine that has
// other things to do.
const generous = 30 * time.Second

func TestAServerThatStandsStill(t *testing.T) {
	t.Parallel() // it waits more than it works
	own, opts := testenv.Redis(t), fresh()
	a, b := locker(t, backend(t, own.Addr, opts), short()), locker(t, backend(t, own.Addr, opts), lock.Options{})
	hasty := locker(t, backend(t, own.Addr, opts), lock.Options{Timeout: time.Second})
	h := locktest.Take(t, a, "k")
	if err := own.Pause(); err != nil {
		t.Fatal(err)
	}
	locktest.Lost(t, h)
	if _, err := hasty.TryLock(t.Context(), "k"); !errors.Is(err, lock.ErrUnavailable) {
		t.Fatal(err)
	}
	if err := own.Resume(); err != nil {
		t.Fatal(err)
	}
	locktest.After(t, h, b)
}

func TestAServerThatForgets(t *testing.T) {
	t.Parallel() // it waits more than it works
	own, opts := testenv.Redis(t), fresh()
	a, b := locker(t, backend(t, own.Addr, opts), short()), locker(t, backend(t, own.Addr, opts), lock.Options{})
	h := locktest.Take(t, a, "k")
	own.Kill()
	if err := own.Start(); err != nil {
		t.Fatal(err)
	}
	locktest.Lost(t, h)
	locktest.After(t, h, b)
}

func TestAServerThatForgetsItsScripts(t *testing.T) {
	own := testenv.Redis(t)
	l, raw := locker(t, backend(t, own.Addr, fresh()), renewing()), client(t, own.Addr)
	h := locktest.Take(t, l, "k")
	if err := raw.Do(t.Context(), raw.B().ScriptFlush().Build()).Error(); err != nil {
		t.Fatal(err)
	}
	locktest.Renewed(t, h)
	locktest.Unlock(t, h)
}
