package locktest

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"rushgate/lock"
)

// Wire is a backend at the end of a network that can be spoilt, and the same one
// without it.
type Wire struct {
	Through, Beside lock.Backend

	Cut  func()                        // resets all connections; new ones are welcome
	Lose func(toServer, toClient bool) // loses all bytes that go there
	Hold func()                        // keeps what goes to the server, and delivers it after Heal
	Heal func() error                  // ends what was done
}

// wired is two processes, one of them behind the network.
type wired struct {
	*testing.T
	Wire
	ears            *hearing
	through, beside *lock.Locker
}

func network(t *testing.T, f Factory) {
	for _, c := range []struct {
		name  string
		lease time.Duration
		test  func(*wired)
	}{
		{"ConnectionsAreReset", 9 * time.Second, connectionsReset},
		{"RequestsGetLost", 900 * time.Millisecond, requestsLost},
		{"AnswersGetLost", 900 * time.Millisecond, answersLost},
		{"BothGetLost", 900 * time.Millisecond, bothLost},
		{"ARequestComesLate", 9 * time.Second, requestLate},
		{"NewsGetLost", 30 * time.Minute, newsLost},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel() // it waits more than it works
			w := &wired{T: t, Wire: f.Wire(t)}
			w.ears = &hearing{Backend: w.Through, ready: make(chan struct{})}
			w.through = newLocker(t, w.ears, lock.Options{Lease: c.lease})
			w.beside = newLocker(t, w.Beside, lock.Options{Lease: max(c.lease, 9*time.Second)}) // it has to be in time, however busy the machine
			c.test(w)
		})
	}
}

// hearing says when its Locker hears for the first time.
type hearing struct {
	lock.Backend
	once  sync.Once
	ready chan struct{}
}

func (h *hearing) Listen(ctx context.Context, node string, ready func(), granted func(lock.Grant)) error {
	return h.Backend.Listen(ctx, node, func() {
		ready()
		h.once.Do(func() { close(h.ready) })
	}, granted)
}

// silent checks that the server is not to be reached.
func (w *wired) silent(key string) {
	w.Helper()
	if _, err := w.through.TryLock(w.Context(), key); !errors.Is(err, lock.ErrUnavailable) {
		w.Fatalf("%v; want %v", err, lock.ErrUnavailable)
	}
}

func connectionsReset(w *wired) {
	h := Take(w.T, w.through, "k")
	for range 2 {
		w.Cut()
		Renewed(w.T, h)
	}
	Unlock(w.T, h)
}

// requestsLost: the server hears nothing of the holder, which stops before somebody
// else begins.
func requestsLost(w *wired) {
	h := Take(w.T, w.through, "k")
	w.Lose(true, false)
	w.passesOn(h)
}

func bothLost(w *wired) {
	h := Take(w.T, w.through, "k")
	w.Lose(true, true)
	w.passesOn(h)
}

func (w *wired) passesOn(h *lock.Held) {
	w.Helper()
	next := Take(w.T, w.beside, "k")
	if h.Valid() {
		w.Fatal("two holders")
	}
	Lost(w.T, h)
	Unlock(w.T, next)
	w.silent("other")
	must(w.T, w.Heal())
	After(w.T, h, w.beside)
}

// answersLost: the server may go on hearing the holder, who hears nothing: it
// must stop all the same.
func answersLost(w *wired) {
	h := Take(w.T, w.through, "k")
	w.Lose(false, true)
	Lost(w.T, h)
	w.silent("other")
	must(w.T, w.Heal())
	After(w.T, h, w.beside)
}

// requestLate: what was asked arrives when the caller has long given up.
func requestLate(w *wired) {
	Unlock(w.T, Take(w.T, w.through, "warm")) // the connection is there
	w.Hold()
	w.silent("k")
	h := Take(w.T, w.beside, "k")
	must(w.T, w.Heal())
	Renewed(w.T, h)
	Unlock(w.T, h)
	Unlock(w.T, Take(w.T, w.beside, "k"))
}

// newsLost: with such a lease, nothing but hearing again makes the waiting one ask.
func newsLost(w *wired) {
	h := Take(w.T, w.beside, "k")
	done := make(chan outcome, 1)
	go func() {
		h, err := w.through.Lock(w.Context(), "k", lock.WithMaxWait(generous))
		done <- outcome{h, err}
	}()
	Queued(w.T, w.Beside, "k")
	select {
	case <-w.ears.ready:
	case <-time.After(generous):
		w.Fatal("nobody listens")
	}
	w.Cut()
	Unlock(w.T, h)
	must(w.T, (<-done).error)
}
