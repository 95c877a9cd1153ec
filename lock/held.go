package lock

import (
	"context"
	"errors"
	"sync/atomic"
	"time"
)

// Held is a lock that somebody has. Its methods may be called by several
// goroutines.
type Held struct {
	locker *Locker
	claim  Claim
	fence  uint64
	once   bool         // not to be renewed
	until  atomic.Int64 // on the Locker's clock: then the lease may have ended
	ctx    heldContext
	end    context.CancelCauseFunc
	duty   duty
}

// drift is by how much the lease counts shorter here than at the server: two
// clocks do not run at the same speed. It is what Redlock takes for safe.
// (https://redis.io/docs/latest/develop/use/patterns/distributed-locks/)
func drift(lease time.Duration) time.Duration { return lease/100 + 2*time.Millisecond }

// lasting is how long a holder may rely on a lease, from before it asked.
func lasting(lease time.Duration) time.Duration { return lease - drift(lease) }

// hold makes a Held of a claim that was granted by an ask, or kept by one, that
// was sent then.
func (l *Locker) hold(parent context.Context, w *wish, fence uint64, sent time.Duration) (*Held, error) {
	h := &Held{locker: l, claim: w.Claim, fence: fence, once: w.once}
	h.claim.Fence = fence
	h.until.Store(int64(sent + lasting(w.Lease)))
	h.ctx.held, h.ctx.parent = h, parent
	h.ctx.Context, h.end = context.WithCancelCause(parent)
	if !l.keepHeld(h, sent) {
		h.end(ErrClosed)
		l.leave(w.Claim)
		return nil, ErrClosed
	}
	return h, nil
}

// Key returns the key.
func (h *Held) Key() string { return h.claim.Key }

// Fence returns the fencing token: a number that is greater than those of all
// who had the key before. A resource that remembers the greatest number that it
// has seen, and refuses smaller ones, is safe from holders that were late.
func (h *Held) Fence() uint64 { return h.fence }

// Context returns a context that ends when the lock does: with ErrLost as its
// cause when the lease has ended, or may have by this process's own monotonic
// clock; with ErrReleased at Unlock; and with its parent, that of the call.
//
// After a pause of the process, its Err and Done look at the clock themselves,
// so that whoever wakes up and looks is told the truth.
func (h *Held) Context() context.Context { return &h.ctx }

// Valid says that the lock was held at the moment of the call, and its context had
// not ended. Nothing keeps a
// process from being paused before the next one: see Fence.
func (h *Held) Valid() bool { return h.ctx.Context.Err() == nil && h.Left() > 0 }

// Left returns how long the lease lasts if it is not renewed any more.
func (h *Held) Left() time.Duration {
	return time.Duration(h.until.Load()) - h.locker.now()
}

// Unlock gives the lock back and ends the held context. It returns ErrLost if
// the lock was lost before, and ErrReleased if it was unlocked before.
// ErrUnavailable means that the server did not answer: then the lock is
// released as soon as it does, or ends with its lease. In no case is it renewed
// any more.
func (h *Held) Unlock(ctx context.Context) error {
	l := h.locker
	if err := l.keeper.drop(h); err != nil {
		if errors.Is(err, ErrLost) { // the claim may go on by another hold of its owner
			l.leave(h.claim)
		}
		return about(h.claim.Key, err)
	}
	lost := h.expired()
	h.end(ErrReleased)
	if lost { // it may be there still: not for long, but why wait
		l.leave(h.claim)
		return about(h.claim.Key, ErrLost)
	}
	ctx, cancel := context.WithTimeout(ctx, l.opts.Timeout)
	defer cancel()
	a := l.insist(ctx, func() Answer { return l.backend.Release(ctx, []Claim{h.claim})[0] })
	switch {
	case a.Err != nil:
		l.leave(h.claim)
		return about(h.claim.Key, a.Err)
	case a.State == Granted:
		return nil
	case a.repeated && h.Left() > 0:
		return nil // it was there until an attempt took it away whose answer got lost
	}
	return about(h.claim.Key, ErrLost)
}

// expired ends the context if the lease has ended by the clock.
func (h *Held) expired() bool {
	if h.Left() > 0 {
		return false
	}
	h.end(ErrLost)
	return true
}

// heldContext is a context that looks at the clock: its timer may be late. So may
// that of its parent, which is one as well where several locks are taken.
type heldContext struct {
	context.Context
	held   *Held
	parent context.Context
}

// Done implements context.Context.
func (c *heldContext) Done() <-chan struct{} {
	c.look()
	return c.Context.Done()
}

// Err implements context.Context.
func (c *heldContext) Err() error {
	c.look()
	return c.Context.Err()
}

func (c *heldContext) look() {
	_ = c.parent.Err() // if that has ended, so have we
	c.held.expired()
}
