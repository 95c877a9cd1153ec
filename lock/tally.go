package lock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// tally is what several servers answered.
type tally struct {
	granted map[Backend]uint64
	states  []State // of those that did not grant
	left    time.Duration
	errs    []error
}

func (t *tally) add(b Backend, a Answer) {
	switch {
	case a.Err != nil:
		t.errs = append(t.errs, a.Err)
	case a.State == Granted:
		t.granted[b] = a.Fence
	default:
		t.states = append(t.states, a.State)
	}
	if a.Left > 0 && (t.left == 0 || a.Left < t.left) {
		t.left = a.Left
	}
}

// fence is the greatest that was granted.
func (t *tally) fence() (most uint64) {
	for _, f := range t.granted {
		most = max(most, f)
	}
	return most
}

// refusal is the answer when there is no quorum. Some that are silent may
// have made one with those that granted: then nobody knows.
func (t *tally) refusal(quorum int) Answer {
	if len(t.granted)+len(t.errs) >= quorum && len(t.errs) > 0 {
		return Answer{Err: fmt.Errorf("%w: %d servers grant, %d refuse, %d are silent: %w", ErrUnavailable,
			len(t.granted), len(t.states), len(t.errs), errors.Join(t.errs...))}
	}
	return t.worst()
}

// worst is the worst that was said: who is denied here, or not known, will be so
// again.
func (t *tally) worst() Answer {
	if len(t.states) == 0 {
		return Answer{State: Taken, Left: t.left}
	}
	return Answer{State: slices.MaxFunc(t.states, cmp.Compare[State]), Left: t.left}
}

// ask asks some servers at the same time. When it is clear whether a quorum
// granted, it waits for the others as long again as that took: they are late,
// and are not given up, but nobody waits for a server that is away.
func (r *Redlock) ask(ctx context.Context, some []Backend, quorum int, f func(context.Context, Backend) Answer) *tally {
	type reply struct {
		Backend
		Answer
	}
	replies := make(chan reply, len(some))
	for _, b := range some {
		r.all.Go(func() {
			// The caller's end is not theirs: a release must reach the slow ones.
			ctx, cancel := context.WithTimeout(r.ctx, r.patient)
			defer cancel()
			replies <- reply{b, f(ctx, b)}
		})
	}
	sum := &tally{granted: map[Backend]uint64{}}
	began := time.Now()
	var grace <-chan time.Time
	for n := range some {
		select {
		case got := <-replies:
			sum.add(got.Backend, got.Answer)
		case <-grace:
			return sum
		case <-ctx.Done():
			for range len(some) - n {
				sum.errs = append(sum.errs, fmt.Errorf("%w: %w", ErrUnavailable, ctx.Err()))
			}
			return sum
		}
		if grace == nil && (len(sum.granted) >= quorum || len(sum.states) > len(r.servers)-quorum) {
			grace = time.After(time.Since(began) + time.Millisecond)
		}
	}
	return sum
}

// acquire is an Acquire that some server has not answered yet.
type acquire struct {
	open     int
	released bool
}

// begin says that all servers are asked for a claim.
func (r *Redlock) begin(token string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	a := r.acquires[token]
	if a == nil {
		a = &acquire{}
		r.acquires[token] = a
	}
	a.open += len(r.servers)
}

// over says that one has answered, and whether the claim was released meanwhile.
func (r *Redlock) over(token string) (released bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	a := r.acquires[token]
	if a.open--; a.open == 0 {
		delete(r.acquires, token)
	}
	return a.released
}

// end says that the claim is released, for those who answer later.
func (r *Redlock) end(token string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if a := r.acquires[token]; a != nil {
		a.released = true
	}
}
