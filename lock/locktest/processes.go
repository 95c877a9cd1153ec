package locktest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"rushgate/lock"
)

// childLease is short, as tests wait for its end. Nothing is asked of its holder for
// which it has to be in time.
const childLease = 1200 * time.Millisecond

// house is a backend that children use, too.
type house struct {
	*testing.T
	f     Factory
	b     lock.Backend
	where string
	l     *lock.Locker
	key   string
}

// processes runs the tests in which a process that has a lock, or waits for one,
// is stopped or killed.
func processes(t *testing.T, f Factory) {
	b := f.New(t)
	for _, c := range []struct {
		name string
		test func(*house)
		line bool // it needs one
	}{
		{"AWriterSleeps", writerSleeps, false},
		{"AReaderSleeps", readerSleeps, false},
		{"AHolderOfPermitsSleeps", permitsSleep, false},
		{"AHolderIsKilled", holderKilled, false},
		{"TheDeadReleaseNothing", deadReleaseNothing, false},
		{"AWaiterSleepsThroughItsGrant", waiterSleeps, true},
	} {
		if c.line && f.Quorum {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel() // it waits more than it works
			l := newLocker(t, b, lock.Options{})
			c.test(&house{T: t, f: f, b: b, where: f.Where(b), l: l, key: c.name})
		})
	}
}

// busy checks that the key is not to be had.
func (h *house) busy(what string) {
	h.Helper()
	if _, err := h.l.TryLock(h.Context(), h.key); !errors.Is(err, lock.ErrHeld) {
		h.Fatalf("%s: %v; want %v", what, err, lock.ErrHeld)
	}
}

func (h *house) writer(lease time.Duration) call { return call{h.key, all, all, lease} }

// wakesLate lets a sleeper go on after its lock has gone to the next one. Its
// write is on its way before it looks: the resource refuses that. Then it sees
// that it has lost, and what it tells the server on its way out does the next one no
// harm.
func (h *house) wakesLate(p *process, res *resource, next *lock.Held) {
	h.Helper()
	p.finish(h.T) // it finds that when it wakes, before any of its timers
	p.wake(h.T)
	p.says(h.T, fmt.Sprint("writes ", p.fence))
	if res.write(p.fence) == nil {
		h.Fatalf("a write with fence %d is accepted after one with %d", p.fence, next.Fence())
	}
	p.says(h.T, "valid false", "cause "+lock.ErrLost.Error(), fmt.Sprintf("unlock lock %q: %v", h.key, lock.ErrLost), "over")
	h.busy("the sleeper has woken up")
	if !next.Valid() {
		h.Fatal("the next holder has lost")
	}
	Unlock(h.T, next)
	Unlock(h.T, Take(h.T, h.l, h.key))
}

// follows checks that a fence is greater, and writes with it.
func (h *house) follows(res *resource, fence uint64) {
	h.Helper()
	if err := res.write(fence); err != nil {
		h.Fatalf("a write with fence %d after one with %d: %v", fence, res.fence.Load(), err)
	}
}

func writerSleeps(h *house) {
	var res resource
	p := startHolder(h.T, h.where, h.writer(childLease))
	h.follows(&res, p.fence)
	p.stop(h.T)
	next := Take(h.T, h.l, h.key)
	h.follows(&res, next.Fence())
	h.wakesLate(p, &res, next)
}

// readerSleeps: a writer comes after the end of the sleeper's lease and of a
// reader that is awake.
func readerSleeps(h *house) {
	var res resource
	p := startHolder(h.T, h.where, call{h.key, 1, all, childLease})
	awake, err := h.l.RLock(h.Context(), h.key)
	must(h.T, err)
	p.stop(h.T)
	h.busy("two read")
	Unlock(h.T, awake)
	next := Take(h.T, h.l, h.key)
	h.follows(&res, next.Fence())
	h.wakesLate(p, &res, next)
}

// permitsSleep: of three permits the sleeper has two.
func permitsSleep(h *house) {
	var res resource
	p := startHolder(h.T, h.where, call{h.key, 2, 3, childLease})
	h.follows(&res, p.fence)
	p.stop(h.T)
	next, err := h.l.Acquire(h.Context(), h.key, 3, 3, lock.WithMaxWait(generous))
	must(h.T, err)
	h.follows(&res, next.Fence())
	h.wakesLate(p, &res, next)
}

func holderKilled(h *house) {
	var res resource
	p := startHolder(h.T, h.where, h.writer(childLease))
	h.follows(&res, p.fence)
	p.kill()
	next := Take(h.T, h.l, h.key)
	h.follows(&res, next.Fence())
	Unlock(h.T, next)
}

// deadReleaseNothing: that the connections of a holder end is not the end of its
// lease.
func deadReleaseNothing(h *house) {
	p := startHolder(h.T, h.where, h.writer(lock.MaxLease))
	p.kill()
	_, err := h.l.Lock(h.Context(), h.key, lock.WithMaxWait(childLease))
	if !errors.Is(err, lock.ErrTimeout) {
		h.Fatalf("the lock of the dead: %v; want %v", err, lock.ErrTimeout)
	}
}

// waiterSleeps: a child is granted out of the line while it sleeps, and wakes up to
// the news of a grant that is over. It asks again, and waits for its new turn.
func waiterSleeps(h *house) {
	var res resource
	first := Take(h.T, h.l, h.key)
	h.follows(&res, first.Fence())
	p := start(h.T, h.where, h.writer(10*time.Second)) // it must be in the line when it is its turn
	Queued(h.T, h.b, h.key)
	p.stop(h.T)
	Unlock(h.T, first) // the sleeper is granted
	next := Take(h.T, h.l, h.key)
	if next.Fence() < first.Fence()+2 {
		h.Fatalf("fence %d follows %d: nobody was granted meanwhile", next.Fence(), first.Fence())
	}
	h.follows(&res, next.Fence())
	p.wake(h.T)
	Queued(h.T, h.b, h.key)
	Unlock(h.T, next)
	p.holds(h.T)
	h.follows(&res, p.fence)
	p.finish(h.T)
	p.says(h.T, fmt.Sprint("writes ", p.fence), "valid true", fmt.Sprint("unlock ", nil), "over")
}
