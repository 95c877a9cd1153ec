package lock_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"rushgate/lock"
)

// postman brings the news of grants when he is told to.
type postman struct {
	lock.Backend
	bring chan struct{}
}

func (p *postman) Listen(ctx context.Context, node string, ready func(), granted func(lock.Grant)) error {
	return p.Backend.Listen(ctx, node, ready, func(g lock.Grant) {
		select {
		case <-p.bring:
			granted(g)
		case <-ctx.Done():
		}
	})
}

// waiter is a Lock call that waits in line, whose news are brought late.
type waiter struct {
	*testing.T
	memory *lock.Memory
	mute   *mute
	news   chan struct{} // to be closed: they are brought
	first  *lock.Held    // by another process
	others *lock.Locker
	done   chan *lock.Held
}

const staleLease = 9 * time.Second

// stale runs a test in which the news of a grant reach who waits when it has gone to
// somebody else.
func stale(t *testing.T, test func(*waiter)) {
	synctest.Test(t, func(t *testing.T) {
		w := &waiter{T: t, memory: lock.NewMemory(), news: make(chan struct{}), done: make(chan *lock.Held, 1)}
		w.mute = &mute{Backend: &postman{w.memory, w.news}}
		l, err := lock.New(w.mute, lock.Options{Lease: staleLease})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		if w.others, err = lock.New(w.memory, lock.Options{Lease: staleLease}); err != nil {
			t.Fatal(err)
		}
		defer w.others.Close()
		w.first = w.take()
		go func() {
			h, err := l.Lock(t.Context(), "k", lock.As("me"))
			if err != nil {
				t.Error(err)
			}
			w.done <- h
		}()
		synctest.Wait()
		test(w)
	})
}

func (w *waiter) take() *lock.Held {
	w.Helper()
	h, err := w.others.Lock(w.Context(), "k")
	return held(w.T, h, err)
}

// comes checks that who waits gets the key after the next one has left, not before.
func (w *waiter) comes(next *lock.Held) {
	w.Helper()
	close(w.news)
	synctest.Wait()
	if len(w.done) > 0 {
		w.Fatalf("who waits has the lock with fence %d, and another one with %d", (<-w.done).Fence(), next.Fence())
	}
	w.mute.dead.Store(false)
	<-time.After(staleLease / 2) // it asks
	if err := next.Unlock(w.Context()); err != nil {
		w.Fatal(err)
	}
	if mine := <-w.done; mine == nil || !mine.Valid() || mine.Fence() <= next.Fence() {
		w.Fatalf("%+v after fence %d", mine, next.Fence())
	}
}

// The news come after the end of the lease that they are about.
func TestNewsOfAGrantThatIsOver(t *testing.T) {
	stale(t, func(w *waiter) {
		w.mute.dead.Store(true) // or it would hear by asking
		if err := w.first.Unlock(w.Context()); err != nil {
			w.Fatal(err)
		}
		w.comes(w.take()) // when the lease of who waits has ended
	})
}

// The server has forgotten the grant, and who waits has asked again and stands in
// the line anew, with a lease that has just begun, when the news come.
func TestNewsOfAnEarlierGrant(t *testing.T) {
	stale(t, func(w *waiter) {
		w.mute.dead.Store(true)
		if err := w.first.Unlock(w.Context()); err != nil {
			w.Fatal(err)
		}
		lock.Expire(w.memory, "k", "me")
		next := w.take()
		w.mute.dead.Store(false)
		<-time.After(staleLease / 2)
		w.comes(next)
	})
}
