package once

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// flights are the keys that calls of this process are busy with. Of all calls for
// one key one speaks with the store; so a stampede costs the store no more than
// one caller per process.
type flights struct {
	mu   *sync.Mutex // guards the rest, and what flight says it does
	by   map[flightKey]*flight
	free int // calls that may still come in
	most int
}

// flightKey: calls with another fingerprint are another matter; the store decides.
type flightKey struct{ key, fingerprint string }

// flight is one key that is in the air.
type flight struct {
	key   flightKey
	turns chan struct{} // holds a value while somebody has the turn
	all   *flights

	// Guarded by the mutex of all.
	calls int
	busy  bool          // whoever has the turn has heard that there is no result yet
	heard chan struct{} // if not nil: closed when that is heard

	// Whoever has the turn may change these.
	over   bool
	result Result
	err    error
}

func newFlights(most int) flights {
	return flights{mu: new(sync.Mutex), by: map[flightKey]*flight{}, free: most, most: most}
}

// join counts a call in. The caller leaves.
func (a *flights) join(c *call) (*flight, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.free == 0 {
		return nil, fmt.Errorf("%w: %d calls wait already", ErrFull, a.most)
	}
	a.free--
	k := flightKey{c.key, c.fingerprint}
	f := a.by[k]
	if f == nil {
		f = &flight{key: k, turns: make(chan struct{}, 1), all: a}
		a.by[k] = f
	}
	f.calls++
	return f, nil
}

func (a *flights) leave(f *flight) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.free++
	if f.calls--; f.calls == 0 && a.by[f.key] == f {
		delete(a.by, f.key)
	}
}

// turn waits until it is the caller's turn, which then passes it on. One who does
// not wait for somebody's work does wait while it is being asked whether there is any.
func (f *flight) turn(ctx context.Context, c *call) error {
	select {
	case f.turns <- struct{}{}:
		return nil
	default:
	}
	var busy <-chan struct{}
	if !c.waits {
		if busy = f.listen(); busy == nil {
			return &InProgressError{}
		}
	}
	ctx, stop := c.patience(ctx)
	defer stop()
	select {
	case f.turns <- struct{}{}:
		return nil
	case <-busy:
		return &InProgressError{}
	case <-ctx.Done():
		return outOfPatience(ctx, 0)
	}
}

// listen returns a channel that is closed when somebody is known to be at it, or
// nil when that is known already.
func (f *flight) listen() <-chan struct{} {
	f.all.mu.Lock()
	defer f.all.mu.Unlock()
	if f.busy {
		return nil
	}
	if f.heard == nil {
		f.heard = make(chan struct{})
	}
	return f.heard
}

// atWork says that there is no result yet: the caller, or somebody elsewhere, is at it.
func (f *flight) atWork() {
	f.all.mu.Lock()
	defer f.all.mu.Unlock()
	f.busy = true
	if f.heard != nil {
		close(f.heard)
		f.heard = nil
	}
}

func (f *flight) pass() {
	f.all.mu.Lock()
	f.busy = false
	f.all.mu.Unlock()
	<-f.turns
}

// land leaves an outcome for those who wait. Who comes from now on asks the store.
func (f *flight) land(r Result, err error) {
	f.over, f.result, f.err = true, r.copied(), err
	f.all.mu.Lock()
	defer f.all.mu.Unlock()
	if f.all.by[f.key] == f {
		delete(f.all.by, f.key)
	}
}

// answer is the outcome for another call than the one that made it. An outcome
// never changes once it is there.
func (f *flight) answer() (Result, error) {
	if failed, ok := errors.AsType[*FailedError](f.err); ok {
		return Result{}, NewFailedError(failed.Message, failed.Token, failed.Number, nil)
	}
	r := f.result.copied()
	r.Replayed = f.err == nil
	return r, f.err
}
