package lock

import (
	"context"
	"errors"
	"time"
)

// wait is a Lock call that may hear of its grant.
type wait struct {
	granted chan uint64   // the fence; has room for one
	again   chan struct{} // news may have been missed: ask
}

// Between two attempts that got no answer there is a pause that doubles.
const (
	firstPause = 10 * time.Millisecond
	lastPause  = 500 * time.Millisecond
)

// try asks once.
func (l *Locker) try(ctx context.Context, w *wish) (*Held, error) {
	sent := l.now()
	a, err := l.ask(ctx, w)
	switch {
	case err != nil:
		return nil, about(w.Key, err)
	case a.Err != nil:
		l.leave(w.Claim)
		return nil, about(w.Key, a.Err)
	case a.State != Granted:
		return nil, about(w.Key, refusal(a.State))
	}
	return l.hold(ctx, w, a.Fence, sent)
}

// ask sends one Acquire. The error is that nothing was sent.
func (l *Locker) ask(ctx context.Context, w *wish) (Answer, error) {
	if l.ctx.Err() != nil {
		return Answer{}, ErrClosed
	}
	if ctx.Err() != nil {
		return Answer{}, why(ctx)
	}
	ctx, cancel := context.WithTimeout(ctx, l.opts.Timeout)
	defer cancel()
	return l.backend.Acquire(ctx, w.Claim), nil
}

// lock asks, waits to be told, and asks again when it is time to.
func (l *Locker) lock(ctx context.Context, w *wish) (*Held, error) {
	self, end := l.enter(w.Token)
	defer l.exit(w.Token)
	patience := time.NewTimer(w.maxWait)
	defer patience.Stop()

	// answered is when the latest ask was sent that is known to have arrived: the
	// lease at the server is at least Lease from then. Until there is one it is
	// the first, the most cautious of them all.
	asked, answered, pause := false, l.now(), firstPause
	var past uint64 // fences up to this one were granted before the ask: news of them is stale
	for {
		sent := l.now()
		a, err := l.ask(ctx, w)
		if err != nil {
			return nil, l.giveUp(w, asked, err)
		}
		asked = true
		var next time.Duration
		switch {
		case a.Err == nil && a.State == Granted:
			return l.hold(ctx, w, a.Fence, sent)
		case a.Err == nil && (a.State == Waiting || a.State == Taken):
			answered, past, pause, next = sent, a.Fence, firstPause, l.nextAsk(w, a)
		case a.Err != nil && errors.Is(a.Err, ErrUnavailable):
			next, pause = pause, min(2*pause, lastPause)
		case a.Err != nil:
			return nil, l.giveUp(w, true, a.Err)
		default:
			return nil, about(w.Key, refusal(a.State))
		}
		timer := time.NewTimer(next)
		select {
		case fence := <-self.granted:
			// A grant that is over already was for nothing: ask again.
			if fence > past && l.now() < answered+lasting(w.Lease) {
				timer.Stop()
				return l.hold(ctx, w, fence, answered)
			}
		case <-timer.C:
		case <-self.again:
		case <-ctx.Done():
			err = why(ctx)
		case <-end:
			err = ErrClosed
		case <-patience.C:
			if err = ErrTimeout; a.Err != nil {
				err = errors.Join(ErrTimeout, a.Err)
			}
		}
		timer.Stop()
		if err != nil {
			return nil, l.giveUp(w, true, err)
		}
	}
}

// nextAsk is how long to wait for news. A place in the line is a lease as well
// and needs signs of life. The first in the line also asks when those before it
// may have died, which nobody would tell.
func (l *Locker) nextAsk(w *wish, a Answer) time.Duration {
	next := w.Lease / 3
	if a.Left > 0 && a.Ahead == 0 {
		next = min(next, max(a.Left, time.Millisecond))
	}
	return next
}

// enter makes a call known to those who hear of grants.
func (l *Locker) enter(token string) (*wait, <-chan struct{}) {
	l.listening.Do(func() { l.all.Go(l.listen) })
	self := &wait{granted: make(chan uint64, 1), again: make(chan struct{}, 1)}
	l.mu.Lock()
	l.waits[token] = self
	l.mu.Unlock()
	return self, l.ctx.Done()
}

func (l *Locker) exit(token string) {
	l.mu.Lock()
	delete(l.waits, token)
	l.mu.Unlock()
}

// giveUp returns the error of a call that gets nothing, and gives back what it
// may have.
func (l *Locker) giveUp(w *wish, asked bool, err error) error {
	if asked {
		l.leave(w.Claim)
	}
	return about(w.Key, err)
}

// listen hears of grants until Close.
func (l *Locker) listen() {
	for l.ctx.Err() == nil {
		_ = l.backend.Listen(l.ctx, l.node, l.missed, l.heard)
		select {
		case <-l.ctx.Done():
		case <-time.After(lastPause):
		}
	}
}

// heard passes on that somebody was granted.
func (l *Locker) heard(g Grant) {
	l.mu.Lock()
	w := l.waits[g.Token]
	l.mu.Unlock()
	if w == nil {
		return // it heard by an answer, or has given up and released
	}
	select {
	case w.granted <- g.Fence:
	default: // it was told before, and has not come to it
	}
}

// missed has all ask who wait: nobody knows what was told before.
func (l *Locker) missed() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, w := range l.waits {
		select {
		case w.again <- struct{}{}:
		default:
		}
	}
}

// refusal is the error for a state that is not a grant.
func refusal(s State) error {
	switch s {
	case Taken, Waiting:
		return ErrHeld
	case Full:
		return ErrLineFull
	case Denied:
		return ErrUpgrade
	}
	return errors.New("the backend answered " + s.String())
}
