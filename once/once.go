package once

import (
	"bytes"
	"context"
	"errors"
	"time"
)

// Once runs work once for each key, among all who share its store. Make one with
// New; it is safe for use by many goroutines, and has nothing to close.
type Once struct {
	cfg     Config
	flights flights
}

// New checks a configuration, fills in its defaults and returns a Once.
func New(c Config) (*Once, error) {
	c.complete()
	if err := c.check(); err != nil {
		return nil, err
	}
	return &Once{cfg: c, flights: newFlights(c.Waiters)}, nil
}

// MaxResult returns the most bytes that a result may have.
func (o *Once) MaxResult() int { return o.cfg.MaxResult }

// Work is what is done once. Its context ends with the caller's, and when the
// attempt loses its key (the cause is ErrLost then). The bytes that it returns are
// the result, and Do's from then on. An error frees the key, so that somebody tries
// again; an error marked by Permanent is kept as the result. A panic frees the key
// and goes on.
type Work func(ctx context.Context, a Attempt) ([]byte, error)

// Attempt is one run of the work.
type Attempt struct {
	Key string

	// Token is greater than that of every earlier attempt of the same key: a
	// fencing token. A system that the work writes to, and that refuses a lower
	// token than it has seen, is safe from an attempt that was paused and goes on
	// after another one has taken over.
	Token int64

	// Number counts the attempts of the key, from 1, as long as they are
	// remembered (see Idle): a message that was tried 10 times may be a bad one.
	Number int
}

// Result is what the work returned, now or earlier.
type Result struct {
	Value    []byte // the caller's own
	Replayed bool   // by another call than this one
	Token    int64  // of the attempt that made it
	Number   int
}

// Option changes one call of Do.
type Option func(*call)

// NoWait answers ErrInProgress at once when somebody else is at it.
func NoWait() Option { return func(c *call) { c.waits = false } }

// Matching ties the key to a request: a call for the same key and another request
// gets ErrReused, also while the first one runs, and for an hour (Idle) after it has
// died. A key that was freed by a failure may be tied anew. Of the request only a hash is kept.
func Matching(request []byte) Option {
	return func(c *call) { c.fingerprint = Fingerprint(request) }
}

// call is one call of Do.
type call struct {
	key, fingerprint string
	work             Work
	waits            bool
	until            time.Time // the end of its patience
}

// patience is the context of waiting. It is made when there is something to wait
// for: most calls need none.
func (c *call) patience(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithDeadlineCause(ctx, c.until, ErrInProgress)
}

// Do returns the result of the key. If there is none, it runs the work; while
// somebody else runs it, here or on another node, Do waits for the outcome, for
// as long as Config.Patience allows. If that attempt fails, one of those who wait
// tries next.
//
// Its errors: that of the work, when this call ran it; ErrFailed, ErrInProgress,
// ErrReused, ErrLost, ErrUnrecorded, ErrTooLarge, ErrFull, ErrName; that of the
// context; or that of the store, and then nothing is known.
func (o *Once) Do(ctx context.Context, key string, work Work, options ...Option) (Result, error) {
	c := &call{key: key, work: work, waits: true, until: time.Now().Add(o.cfg.Patience)}
	for _, change := range options {
		change(c)
	}
	if err := CheckName("key", key); err != nil {
		return Result{}, err
	}
	f, err := o.flights.join(c)
	if err != nil {
		return Result{}, err
	}
	defer o.flights.leave(f)
	if err := f.turn(ctx, c); err != nil {
		return Result{}, err
	}
	if f.over {
		f.pass()
		return f.answer()
	}
	return o.lead(ctx, f, c)
}

// lead is the call of this process that speaks with the store, while the others
// for the same key wait for their turn. What holds for them too is left for them.
func (o *Once) lead(ctx context.Context, f *flight, c *call) (Result, error) {
	defer f.pass()
	t, err := o.acquire(ctx, f, c)
	switch {
	case err != nil:
		if ctx.Err() == nil && !errors.Is(err, ErrInProgress) {
			f.land(Result{}, err) // the store is away: it is for all of them
		}
		return Result{}, err
	case t.state.Phase == Mine:
		r, err := o.attempt(ctx, c, t)
		if err == nil || isKept(err) {
			f.land(r, err)
		}
		return r, err
	}
	r, err := kept(t.state)
	f.land(r, err)
	return r, err
}

// kept turns a recorded outcome into what Do returns.
func kept(s State) (Result, error) {
	switch s.Phase {
	case Failed:
		return Result{}, NewFailedError(string(s.Value), s.Token, s.Number, nil)
	case Reused:
		return Result{}, ErrReused
	}
	return Result{Value: s.Value, Replayed: true, Token: s.Token, Number: s.Number}, nil
}

// Look returns what is known of a key, without running anything.
func (o *Once) Look(ctx context.Context, key string) (State, error) {
	if err := CheckName("key", key); err != nil {
		return State{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, o.cfg.Timeout)
	defer cancel()
	return o.cfg.Store.Look(ctx, key)
}

// Forget removes what is known of a key, so that its work can be done again. An
// attempt that is under way loses its key. It is true when anything was known.
func (o *Once) Forget(ctx context.Context, key string) (bool, error) {
	if err := CheckName("key", key); err != nil {
		return false, err
	}
	ctx, cancel := context.WithTimeout(ctx, o.cfg.Timeout)
	defer cancel()
	return o.cfg.Store.Forget(ctx, key)
}

// copied returns a result whose bytes are the receiver's own.
func (r Result) copied() Result {
	r.Value = bytes.Clone(r.Value)
	return r
}

// pause waits, unless the context ends before.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
