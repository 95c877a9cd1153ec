package once

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

// How long between two questions to the store. Where it tells of the end, the
// question is only for what was not told.
const (
	firstPause  = 5 * time.Millisecond
	lastPause   = 500 * time.Millisecond
	toldPause   = 5 * time.Second // with a store that tells
	mostRepeats = 5               // of a call that brought no answer
)

// taken is the answer to a question for the key.
type taken struct {
	state State
	owner string
	asked time.Time // before the question: the lease began later
}

// acquire takes the key, or returns what came of somebody else's attempt.
func (o *Once) acquire(ctx context.Context, f *flight, c *call) (*taken, error) {
	claim := Claim{Key: c.key, Owner: NewOwner(), Fingerprint: c.fingerprint, Lease: o.cfg.Lease}
	t, err := o.begin(ctx, claim)
	if err == nil && (t.state.Phase == Mine || t.state.Phase == Busy) {
		f.atWork()
	}
	if err != nil || t.state.Phase != Busy {
		return t, err
	}
	if !c.waits {
		return nil, &InProgressError{Left: t.state.Left}
	}
	patience, enough := c.patience(ctx)
	defer enough()
	ended, stop, err := o.cfg.Store.Watch(patience, c.key)
	if err != nil {
		return nil, waitingFailed(patience, t.state.Left, err)
	}
	defer stop()
	claim.Waits = ended != nil
	for distance := firstPause; ; distance = min(2*distance, lastPause) {
		t, err = o.begin(ctx, claim) // after Watch: an end between the two is seen here
		if err != nil || t.state.Phase != Busy {
			return t, err
		}
		if ended, err = o.await(patience, ended, distance, t.state.Left); err != nil {
			return nil, err
		}
	}
}

// await waits for the end of an attempt, for the end of its lease, or for the
// time to ask again. A channel that is closed says no more: the caller goes on
// without it.
func (o *Once) await(ctx context.Context, ended <-chan struct{}, distance, left time.Duration) (<-chan struct{}, error) {
	if ended != nil {
		distance = toldPause
	} else {
		distance = distance/2 + rand.N(distance) // so that nodes do not ask in step
	}
	if left > 0 { // otherwise nobody knows
		distance = min(distance, max(left, firstPause))
	}
	t := time.NewTimer(distance)
	defer t.Stop()
	select {
	case _, more := <-ended:
		if !more {
			ended = nil
		}
		return ended, nil
	case <-t.C:
		return ended, nil
	case <-ctx.Done():
		return nil, outOfPatience(ctx, left)
	}
}

// outOfPatience is the error of a caller who waits no longer.
func outOfPatience(ctx context.Context, left time.Duration) error {
	if cause := context.Cause(ctx); cause != ErrInProgress {
		return cause
	}
	return &InProgressError{Left: left}
}

func waitingFailed(ctx context.Context, left time.Duration, err error) error {
	if ctx.Err() != nil {
		return outOfPatience(ctx, left)
	}
	return err
}

// begin asks for the key. An answer that got lost may have been "yours": the same
// owner asks again, and if no answer comes at all, gives the key back unseen. Both
// are bounded, by a few times the Timeout together: callers shall hear soon
// that the store is away.
func (o *Once) begin(ctx context.Context, c Claim) (*taken, error) {
	t := &taken{owner: c.Owner, asked: time.Now()} // the first question may be the one that was granted
	err := o.repeat(ctx, t.asked.Add(2*o.cfg.Timeout), func(ctx context.Context) (err error) {
		t.state, err = o.cfg.Store.Begin(ctx, c)
		return err
	})
	if err != nil && !errors.Is(err, ErrFull) {
		_, _ = o.end(ctx, c.Key, c.Owner, Outcome{Phase: Free}) // otherwise the lease ends
	}
	return t, err
}

// repeat calls the store until it answers, at growing distances, a few times, and
// for as long as the time is.
func (o *Once) repeat(ctx context.Context, until time.Time, ask func(context.Context) error) error {
	times := 1
	for distance := firstPause; ; distance = min(4*distance, lastPause) {
		err := o.ask(ctx, ask)
		if err == nil || ctx.Err() != nil || errors.Is(err, ErrFull) || errors.Is(err, ErrUnsupported) {
			return err
		}
		if times++; times > mostRepeats || !time.Now().Before(until) || pause(ctx, distance) != nil {
			return err
		}
	}
}

func (o *Once) ask(ctx context.Context, ask func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, o.cfg.Timeout)
	defer cancel()
	return ask(ctx)
}
