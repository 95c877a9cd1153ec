package once

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// attempt runs the work under the lease, and records what came of it.
func (o *Once) attempt(ctx context.Context, c *call, t *taken) (Result, error) {
	owner, s := t.owner, t.state
	working, lose := context.WithCancelCause(ctx)
	defer lose(nil)
	stop := o.keepUp(working, lose, c.key, t)
	returned := false
	defer func() {
		if !returned { // it panics, or its goroutine ends
			stop()
			_, _ = o.end(ctx, c.key, owner, Outcome{Phase: Free})
		}
	}()
	value, err := c.work(working, Attempt{Key: c.key, Token: s.Token, Number: s.Number})
	returned = true
	stop()
	if err == nil && len(value) > o.cfg.MaxResult {
		err = Permanent(fmt.Errorf("%w: %d bytes; %d are the most", ErrTooLarge, len(value), o.cfg.MaxResult)) // it was done
	}
	if err == nil {
		return o.succeeded(ctx, c, owner, s, value)
	}
	return o.failed(ctx, c, owner, s, err, context.Cause(working))
}

func (o *Once) succeeded(ctx context.Context, c *call, owner string, s State, value []byte) (Result, error) {
	held, err := o.end(ctx, c.key, owner, Outcome{Phase: Done, Value: value, Keep: o.cfg.Keep})
	r := Result{Value: value, Token: s.Token, Number: s.Number}
	switch {
	case err != nil:
		return r, fmt.Errorf("%w: %w", ErrUnrecorded, err)
	case !held:
		return o.overtaken(ctx, c.key, nil)
	}
	return r, nil
}

func (o *Once) failed(ctx context.Context, c *call, owner string, s State, failure, cause error) (Result, error) {
	outcome := Outcome{Phase: Free}
	message, forever := IsPermanent(failure)
	if forever {
		outcome = Outcome{Phase: Failed, Value: []byte(message), Keep: o.cfg.Keep}
	}
	held, err := o.end(ctx, c.key, owner, outcome)
	switch {
	case err == nil && !held, cause == ErrLost && !forever:
		if cause == ErrLost && errors.Is(failure, context.Canceled) {
			failure = nil // it failed because its key was lost
		}
		return o.overtaken(ctx, c.key, failure)
	case forever && err != nil:
		return Result{}, fmt.Errorf("%w: %w: %w", ErrUnrecorded, err, failure)
	case forever:
		return Result{}, NewFailedError(message, s.Token, s.Number, failure)
	}
	return Result{}, failure // a key that could not be freed is free when the lease ends
}

// overtaken is the end of an attempt that lost its key: what counts is what
// somebody else recorded; if nobody has, the failure of the work is told.
func (o *Once) overtaken(ctx context.Context, key string, failure error) (Result, error) {
	var s State
	err := o.repeat(ctx, time.Now().Add(o.cfg.Timeout), func(ctx context.Context) (err error) {
		s, err = o.cfg.Store.Look(ctx, key)
		return err
	})
	if err == nil && (s.Phase == Done || s.Phase == Failed) {
		return kept(s)
	}
	if failure != nil && !errors.Is(failure, ErrLost) {
		err = errors.Join(failure, err)
	}
	if err == nil {
		return Result{}, ErrLost
	}
	return Result{}, fmt.Errorf("%w: %w", ErrLost, err)
}

// isKept says that an error of an attempt is a recorded outcome.
func isKept(err error) bool {
	return errors.Is(err, ErrFailed) && !errors.Is(err, ErrUnrecorded)
}

// end records an outcome, even if the caller has gone. A result is worth trying
// for as long as a lease; a key that cannot be freed is free when the lease ends.
func (o *Once) end(ctx context.Context, key, owner string, outcome Outcome) (held bool, err error) {
	limit := o.cfg.Lease
	if outcome.Phase == Free {
		limit = o.cfg.Timeout
	}
	ctx, until := context.WithoutCancel(ctx), time.Now().Add(limit)
	for {
		err = o.repeat(ctx, until, func(ctx context.Context) (err error) {
			held, err = o.cfg.Store.End(ctx, key, owner, outcome)
			return err
		})
		if err == nil || outcome.Phase == Free || !time.Now().Before(until) || pause(ctx, lastPause) != nil {
			return held, err
		}
	}
}

// keepUp renews the lease until stop is called, which waits for the end of it;
// also when the caller has gone and the work has not noticed. When the key is
// lost, or may be, as nobody answers for a whole lease, the work's context ends.
// Work that takes less than a third of its lease costs a timer.
func (o *Once) keepUp(ctx context.Context, lose context.CancelCauseFunc, key string, t *taken) (stop func()) {
	renewing, cancel := context.WithCancel(context.WithoutCancel(ctx))
	until := t.asked.Add(o.cfg.Lease)
	over := make(chan struct{})
	timer := time.AfterFunc(min(o.cfg.Lease/3, time.Until(until)), func() {
		defer close(over)
		o.renewals(renewing, lose, key, t.owner, until)
	})
	return func() {
		cancel()
		if !timer.Stop() {
			<-over
		}
	}
}

// renewals renews a lease, from now on, again and again.
func (o *Once) renewals(ctx context.Context, lose context.CancelCauseFunc, key, owner string, until time.Time) {
	for distance := time.Duration(0); pause(ctx, distance) == nil; {
		asked := time.Now() // the lease that is granted ends later than a lease after this
		held, err := o.renew(ctx, key, owner, until)
		switch now := time.Now(); {
		case err == nil && held:
			until, distance = asked.Add(o.cfg.Lease), o.cfg.Lease/3
		case ctx.Err() != nil:
			return
		case err == nil, !now.Before(until):
			lose(ErrLost)
			return
		default:
			distance = min(o.cfg.Lease/10, until.Sub(now))
		}
	}
}

// renew asks once, and no longer than the lease lasts. When that is over
// already, as the process was paused, it asks all the same: nobody may have
// taken the key.
func (o *Once) renew(ctx context.Context, key, owner string, until time.Time) (bool, error) {
	limit := o.cfg.Timeout
	if left := time.Until(until); left > 0 {
		limit = min(limit, left)
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return o.cfg.Store.Renew(ctx, key, owner, o.cfg.Lease)
}
