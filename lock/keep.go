package lock

import (
	"container/heap"
	"context"
	"errors"
	"sync"
	"time"
)

// keeper knows what is to be done for each claim, and when: what is held is
// renewed, and ends when its lease does; what was given up is released.
type keeper struct {
	mu     sync.Mutex
	duties duties
	closed bool
	looks  time.Duration // when keep looks at the duties by itself
	wake   chan struct{} // it must look before
	flight sync.WaitGroup
}

// duty is the next thing to do for one claim.
type duty struct {
	held   *Held // nil: the claim is to be released
	claim  Claim // … and this is it
	at     time.Duration
	until  time.Duration // then a release is no longer needed
	place  int           // in the heap, from 1; 0: it is not there
	flying bool          // a request is on its way
	over   error         // why nothing is to be done any more
}

// attempts is in how many parts a lease is cut for renewals that failed.
const attempts = 12

// keepHeld takes over the renewal of a lock. It is false after Close.
func (l *Locker) keepHeld(h *Held, sent time.Duration) bool {
	d := &h.duty
	d.held = h
	d.at = sent + h.claim.Lease/3
	if h.once {
		d.at = time.Duration(h.until.Load())
	}
	return l.keeper.add(d)
}

// leave has a claim released that may be at the server or may still get there,
// until its lease must have ended.
func (l *Locker) leave(c Claim) {
	now := l.now()
	if l.keeper.add(&duty{claim: c, at: now, until: now + c.Lease}) {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), l.opts.Timeout) // nobody is left to do it later
	defer cancel()
	l.backend.Release(ctx, []Claim{c})
}

func (k *keeper) add(d *duty) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return false
	}
	heap.Push(&k.duties, d)
	k.rouse()
	return true
}

// rouse has keep look if something is due before it would. What is taken and
// given back quickly does not wake it at all.
func (k *keeper) rouse() {
	if len(k.duties) == 0 || k.duties[0].at >= k.looks {
		return
	}
	k.looks = k.duties[0].at
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

// drop ends the renewal of a lock that its holder gives back. After it no
// renewal is sent, and the answer of one that is on its way changes nothing.
func (k *keeper) drop(h *Held) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if h.duty.over != nil {
		err := h.duty.over
		h.duty.over = ErrReleased
		return err
	}
	h.duty.over = ErrReleased
	k.remove(&h.duty)
	return nil
}

func (k *keeper) remove(d *duty) {
	if d.place > 0 {
		heap.Remove(&k.duties, d.place-1)
	}
}

func (k *keeper) move(d *duty, at time.Duration) {
	d.at = at
	if d.place > 0 {
		heap.Fix(&k.duties, d.place-1)
	}
}

// keep does what is due, until Close. It waits for no server: requests are sent
// from goroutines of their own, of which each claim has one at most.
func (l *Locker) keep() {
	k := &l.keeper
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		renew, release, next := l.due()
		if len(renew) > 0 {
			k.flight.Go(func() { l.renew(renew) })
		}
		if len(release) > 0 {
			k.flight.Go(func() { l.release(release) })
		}
		timer.Reset(next)
		select {
		case <-timer.C:
		case <-k.wake:
		case <-l.ctx.Done():
			l.dismiss()
			return
		}
	}
}

// mostAtOnce bounds what is sent in one request.
const mostAtOnce = 256

// due takes what is to be done now and says when to look again.
func (l *Locker) due() (renew, release []*duty, next time.Duration) {
	k := &l.keeper
	k.mu.Lock()
	defer k.mu.Unlock()
	now := l.now()
	defer func() { k.looks = now + next }()
	for len(k.duties) > 0 && len(renew)+len(release) < mostAtOnce {
		d := k.duties[0]
		if d.at > now {
			return renew, release, d.at - now
		}
		switch {
		case d.held == nil && (now >= d.until):
			d.over = ErrLost
			k.remove(d)
		case d.held == nil:
			d.flying = true
			release = append(release, d)
			k.move(d, d.until)
		case d.held.expired():
			d.over = ErrLost
			k.remove(d)
		case d.flying || d.held.once:
			k.move(d, time.Duration(d.held.until.Load()))
		default:
			d.flying = true
			renew = append(renew, d)
			k.move(d, time.Duration(d.held.until.Load()))
		}
	}
	if len(k.duties) > 0 {
		return renew, release, 0
	}
	return renew, release, time.Hour
}

// renew sends signs of life.
func (l *Locker) renew(those []*duty) {
	claims := make([]Claim, len(those))
	for i, d := range those {
		claims[i] = d.held.claim
	}
	sent := l.now()
	ctx, cancel := context.WithTimeout(context.Background(), l.opts.Timeout)
	defer cancel()
	answers := l.backend.Renew(ctx, claims)
	l.keeper.mu.Lock()
	defer l.keeper.mu.Unlock()
	for i, d := range those {
		l.renewed(d, answers[i], sent)
	}
	l.keeper.rouse()
}

// renewed draws the conclusion for one of them.
func (l *Locker) renewed(d *duty, a Answer, sent time.Duration) {
	d.flying = false
	h, k := d.held, &l.keeper
	switch {
	case d.over != nil: // unlocked, or lost, meanwhile
	case h.expired(): // what was said to be lost stays so
		d.over = ErrLost
		k.remove(d)
	case a.Err != nil:
		k.move(d, min(l.now()+h.claim.Lease/attempts, time.Duration(h.until.Load())))
	case a.State != Granted || a.Fence != h.fence: // another fence is another grant
		h.end(ErrLost)
		d.over = ErrLost
		k.remove(d)
	default:
		h.until.Store(int64(sent + lasting(h.claim.Lease)))
		k.move(d, sent+h.claim.Lease/3)
	}
}

// release takes back what was given up.
func (l *Locker) release(those []*duty) {
	claims := make([]Claim, len(those))
	for i, d := range those {
		claims[i] = d.claim
	}
	ctx, cancel := context.WithTimeout(context.Background(), l.opts.Timeout)
	defer cancel()
	answers := l.backend.Release(ctx, claims)
	k := &l.keeper
	k.mu.Lock()
	defer k.mu.Unlock()
	for i, d := range those {
		d.flying = false
		switch {
		case d.over != nil:
		case answers[i].Err == nil || !errors.Is(answers[i].Err, ErrUnavailable):
			d.over = ErrReleased
			k.remove(d)
		default:
			k.move(d, min(l.now()+d.claim.Lease/attempts, d.until))
		}
	}
	k.rouse()
}

// dismiss ends all that is held and releases everything, once.
func (l *Locker) dismiss() {
	k := &l.keeper
	k.mu.Lock()
	k.closed = true
	rest := k.duties
	k.duties = nil
	claims := make([]Claim, 0, len(rest))
	for _, d := range rest {
		d.place, d.over = 0, ErrClosed
		if d.held != nil {
			d.held.end(ErrClosed)
			d.claim = d.held.claim
		}
		claims = append(claims, d.claim)
	}
	k.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), l.opts.Timeout)
	defer cancel()
	for len(claims) > 0 && ctx.Err() == nil {
		n := min(len(claims), mostAtOnce)
		l.backend.Release(ctx, claims[:n])
		claims = claims[n:]
	}
	k.flight.Wait()
}

// duties is a heap by time: see container/heap.
type duties []*duty

func (q duties) Len() int           { return len(q) }
func (q duties) Less(i, j int) bool { return q[i].at < q[j].at }
func (q duties) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].place, q[j].place = i+1, j+1
}

// Push implements heap.Interface.
func (q *duties) Push(x any) {
	d := x.(*duty)
	*q = append(*q, d)
	d.place = len(*q)
}

// Pop implements heap.Interface.
func (q *duties) Pop() any {
	last := len(*q) - 1
	d := (*q)[last]
	(*q)[last] = nil
	*q = (*q)[:last]
	d.place = 0
	return d
}
