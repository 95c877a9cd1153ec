package lock

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// wait is a Lock call that may hear of its grant.
type wait struct {
	news  chan uint64 // the fence of the grant, or askAgain; has room for one
	asked bool        // with the present token

	// answered is when the latest ask was sent that is known to have arrived: the
	// lease at the server is at least Lease from then. Until there is one it is
	// the first, the most cautious of them all.
	answered time.Duration
	past     uint64        // news of fences up to this one is stale
	pause    time.Duration // before the next attempt, if this one gets no answer
}

// askAgain stands for news that may have been missed.
const askAgain = 0

// Between two attempts that got no answer there is a pause that doubles.
const (
	firstPause = 10 * time.Millisecond
	lastPause  = 500 * time.Millisecond
)

// try asks, and does not wait.
func (l *Locker) try(ctx context.Context, w *wish) (*Held, error) {
	within, cancel := context.WithTimeout(ctx, l.opts.Timeout)
	defer cancel()
	var sent time.Duration
	var err error
	a := l.insist(within, func() Answer {
		var a Answer
		sent = l.now()
		a, err = l.ask(within, w)
		return a
	})
	switch {
	case a.Err != nil:
		l.leave(w.Claim)
		err = a.Err
	case err != nil && a.repeated: // the time was over just before the next attempt
		l.leave(w.Claim)
		err = fmt.Errorf("%w: %w", ErrUnavailable, err)
	case err != nil:
	case a.State != Granted:
		err = refusal(a.State)
	default:
		var h *Held
		if h, err = l.hold(ctx, w, a.Fence, sent); err == nil {
			return h, nil
		}
	}
	return nil, about(w.Key, err)
}

// insisted is an answer, and whether it is to a repeated question.
type insisted struct {
	Answer
	repeated bool
}

// insist asks again, as long as the context lasts, when a question may have got
// lost: a connection that was reset is soon replaced.
func (l *Locker) insist(ctx context.Context, ask func() Answer) (a insisted) {
	for pause := firstPause; ; pause *= 2 {
		a.Answer = ask()
		if a.Err == nil || !errors.Is(a.Err, ErrUnavailable) {
			return a
		}
		a.repeated = true
		select {
		case <-ctx.Done():
			return a
		case <-l.ctx.Done():
			return a
		case <-time.After(pause):
		}
	}
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
	self := &wait{news: make(chan uint64, 1)}
	l.enter(w, self)
	defer func() { l.exit(w) }()
	deadline := self.answered + w.maxWait
	for {
		sent := l.now()
		a, err := l.ask(ctx, w)
		if err == nil {
			self.asked = true
			var held *Held
			var next time.Duration
			if a.Err == nil && a.State == Granted {
				held, err = l.hold(ctx, w, a.Fence, sent)
			} else if next, err = l.weigh(w, self, a, sent); err == nil {
				held, err = l.rest(ctx, w, self, next, deadline)
			}
			if held != nil {
				return held, nil
			}
			if errors.Is(err, ErrTimeout) {
				err = l.because(err, a.Err)
			}
		}
		if err != nil {
			if self.asked {
				l.leave(w.Claim)
			}
			return nil, about(w.Key, err)
		}
	}
}

// weigh says how long to wait after an answer that is not a grant.
func (l *Locker) weigh(w *wish, self *wait, a Answer, sent time.Duration) (next time.Duration, err error) {
	switch {
	case errors.Is(a.Err, ErrUnavailable):
		next = self.pause
		self.pause = min(2*next, lastPause)
		return next, nil
	case a.Err != nil:
		return 0, a.Err
	case a.State == Waiting:
		self.answered, self.past, self.pause = sent, a.Fence, firstPause
	case a.State == Taken: // a backend without a line; a token is refused once
		l.exit(w)
		w.Token = l.token()
		l.enter(w, self)
	default:
		self.asked = false // refused: there is nothing to give back
		return 0, refusal(a.State)
	}
	// A place in the line is a lease as well and needs signs of life. The first
	// in the line also asks when those before it may have died, which nobody
	// would tell.
	next = w.Lease / 3
	if a.Left > 0 && a.Ahead == 0 {
		next = min(next, max(a.Left, time.Millisecond))
	}
	return next, nil
}

// rest waits for news. It returns nothing when it is time to ask again.
func (l *Locker) rest(ctx context.Context, w *wish, self *wait, next, deadline time.Duration) (*Held, error) {
	l.hear()
	left := deadline - l.now()
	timer := time.NewTimer(min(next, left))
	defer timer.Stop()
	select {
	case fence := <-self.news:
		// A grant that is over already was for nothing.
		if fence > self.past && l.now() < self.answered+lasting(w.Lease) {
			return l.hold(ctx, w, fence, self.answered)
		}
	case <-timer.C:
		if left <= next {
			return nil, ErrTimeout
		}
	case <-ctx.Done():
		return nil, why(ctx)
	case <-l.ctx.Done():
		return nil, ErrClosed
	}
	return nil, nil
}

// enter makes a call known, by its token, to those who hear of grants.
func (l *Locker) enter(w *wish, self *wait) {
	self.asked, self.answered, self.past, self.pause = false, l.now(), 0, firstPause
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waits[w.Token] = self
}

func (l *Locker) exit(w *wish) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.waits, w.Token)
}

// hear begins to listen, once, at the first wait.
func (l *Locker) hear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.hearing && l.ctx.Err() == nil {
		l.hearing = true
		l.all.Go(l.listen)
	}
}

// listen hears of grants until Close.
func (l *Locker) listen() {
	for l.ctx.Err() == nil {
		err := l.backend.Listen(l.ctx, l.node, l.missed, l.heard)
		if l.ctx.Err() == nil {
			l.deafened(err)
		}
		select {
		case <-l.ctx.Done():
		case <-time.After(lastPause):
		}
	}
}

// deafened notes why nothing is heard, and tells it once.
func (l *Locker) deafened(err error) {
	if err == nil {
		err = errors.New("the backend stopped listening")
	}
	l.mu.Lock()
	told := l.deaf != nil
	l.deaf = err
	l.mu.Unlock()
	if !told && l.opts.Deaf != nil {
		l.opts.Deaf(err)
	}
}

// because says why a wait was longer than it had to be: the server gave no
// answer, or no news.
func (l *Locker) because(err, silent error) error {
	l.mu.Lock()
	deaf := l.deaf
	l.mu.Unlock()
	if silent != nil {
		err = fmt.Errorf("%w: %w", err, silent)
	}
	if deaf != nil {
		err = fmt.Errorf("%w: grants are not heard of: %w", err, deaf)
	}
	return err
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
	case w.news <- g.Fence:
	default: // it was told before, and is about to ask
	}
}

// missed has all ask who wait: nobody knows what was told before.
func (l *Locker) missed() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.deaf = nil
	for _, w := range l.waits {
		select {
		case w.news <- askAgain:
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
