package locktest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"rushgate/lock"
)

func waiting(t *testing.T, f Factory) {
	for _, c := range []struct {
		name string
		opts lock.Options
		test func(*desk)
		line bool // it needs one
	}{
		{"ItIsToldAtOnce", lock.Options{Lease: 10 * time.Minute}, toldAtOnce, true},
		{"ItComesAfterTheDead", lock.Options{Lease: 6 * time.Second}, afterTheDead, false},
		{"TheFirstComesFirst", lock.Options{}, firstComesFirst, true},
		{"AWaitIsBounded", lock.Options{MaxWait: 100 * time.Millisecond}, boundedWait, false},
		{"AWaitEndsWithItsContext", lock.Options{}, endsWithContext, false},
		{"AWaitEndsWithItsLocker", lock.Options{}, endsWithLocker, false},
		{"TheLineIsBounded", lock.Options{MaxWaiters: 1}, boundedLine, true},
	} {
		if c.line && f.Quorum {
			continue
		}
		t.Run(c.name, func(t *testing.T) { c.test(newDesk(t, f, c.opts)) })
	}
}

// outcome is what a Lock call in the background returned.
type outcome struct {
	*lock.Held
	error
}

// later calls Lock in the background and returns when it waits.
func (d *desk) later(l *lock.Locker, ctx context.Context, opts ...lock.Option) <-chan outcome {
	d.Helper()
	before := d.spy.times(newcomer)
	done := make(chan outcome, 1)
	go func() {
		h, err := l.Lock(ctx, "k", opts...)
		done <- outcome{h, err}
	}()
	d.spy.seen(d, newcomer, before+1)
	return done
}

func (d *desk) wait(done <-chan outcome) outcome {
	d.Helper()
	select {
	case o := <-done:
		return o
	case <-time.After(generous):
		d.Fatal("Lock does not return")
		return outcome{}
	}
}

// With so long a lease, only news can wake who waits.
func toldAtOnce(d *desk) {
	h := d.must(d.a.Lock(d.Context(), "k"))
	for range 20 {
		next := d.later(d.b, d.Context())
		d.unlock(h)
		o := d.wait(next)
		h = d.must(o.Held, o.error)
		d.a, d.b = d.b, d.a
	}
	if n := d.spy.times("acquire taken") + d.spy.times("acquire waiting"); n > 60 {
		d.Fatalf("%d asks for 20 waits", n)
	}
	d.unlock(h)
}

// Nobody tells that a holder has died, nor that somebody in the line has.
func afterTheDead(d *desk) {
	names := tokens{node: nodeOf(d)}
	dead := claim("k", "dead", names.next(), all, all, 0)
	dead.Lease = 3 * time.Second // it must not be over before the first has come
	if a := d.spy.Acquire(d.Context(), dead); a.State != lock.Granted {
		d.Fatal(a)
	}
	if !d.f.Quorum {
		first := claim("k", "first", names.next(), all, all, 5)
		first.Lease = 3100 * time.Millisecond
		if a := d.spy.Acquire(d.Context(), first); a.State != lock.Waiting {
			d.Fatal(a)
		}
	}
	h := d.must(d.a.Lock(d.Context(), "k"))
	d.unlock(h)
}

func firstComesFirst(d *desk) {
	h := d.must(d.a.Lock(d.Context(), "k"))
	line := make([]<-chan outcome, 6)
	for i := range line {
		line[i] = d.later([]*lock.Locker{d.a, d.b}[i%2], d.Context())
	}
	for i, next := range line {
		d.unlock(h)
		o := d.wait(next)
		h = d.must(o.Held, o.error)
		for _, other := range line[i+1:] {
			if len(other) > 0 {
				d.Fatal("somebody has overtaken")
			}
		}
	}
	d.unlock(h)
}

func boundedWait(d *desk) {
	h := d.must(d.a.Lock(d.Context(), "k"))
	x, err := d.b.Lock(d.Context(), "k")
	d.mustFail(lock.ErrTimeout, x, err)
	d.unlock(h)
	d.free("k")
}

// free waits until a key is free: what was given up is released soon.
func (d *desk) free(key string) {
	d.Helper()
	h, err := d.a.Lock(d.Context(), key, lock.WithMaxWait(generous))
	d.unlock(d.must(h, err))
}

func endsWithContext(d *desk) {
	h := d.must(d.a.Lock(d.Context(), "k"))
	ctx, cancel := context.WithCancelCause(d.Context())
	next := d.later(d.b, ctx)
	tired := errors.New("tired")
	cancel(tired)
	o := d.wait(next)
	d.mustFail(context.Canceled, o.Held, o.error)
	d.mustFail(tired, o.Held, o.error)
	d.unlock(h)
	d.free("k")
}

func endsWithLocker(d *desk) {
	h := d.must(d.a.Lock(d.Context(), "k"))
	l := newLocker(d, d.spy, d.opts)
	next := d.later(l, d.Context())
	if err := l.Close(); err != nil {
		d.Fatal(err)
	}
	o := d.wait(next)
	d.mustFail(lock.ErrClosed, o.Held, o.error)
	d.unlock(h)
	d.free("k")
}

func boundedLine(d *desk) {
	h := d.must(d.a.Lock(d.Context(), "k"))
	next := d.later(d.b, d.Context())
	x, err := d.a.Lock(d.Context(), "k")
	d.mustFail(lock.ErrLineFull, x, err)
	d.unlock(h)
	o := d.wait(next)
	d.unlock(d.must(o.Held, o.error))
}

// exclusion has many change a resource that checks fences, as a database would.
func exclusion(t *testing.T, f Factory) {
	d := newDesk(t, f, lock.Options{})
	workers, turns := 8, 15
	if f.Quorum {
		workers = 4
	}
	var res resource
	var group sync.WaitGroup
	for i := range workers {
		group.Go(func() {
			for range turns {
				h, err := []*lock.Locker{d.a, d.b}[i%2].Lock(t.Context(), "k")
				if err != nil {
					t.Error(err)
					return
				}
				if err := res.write(h.Fence()); err != nil {
					t.Error(err)
				}
				if err := h.Unlock(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	if res.written != workers*turns {
		t.Errorf("%d changes, not %d", res.written, workers*turns)
	}
}

// oneOfMany has many try for a free key at the same moment. Of a majority of
// servers it may be that nobody gets it.
func oneOfMany(t *testing.T, f Factory) {
	d := newDesk(t, f, lock.Options{})
	for round := range 25 {
		key := fmt.Sprint("k", round)
		var start, group sync.WaitGroup
		var got atomic.Int64
		start.Add(1)
		for i := range 8 {
			group.Go(func() {
				start.Wait()
				_, err := []*lock.Locker{d.a, d.b}[i%2].TryLock(t.Context(), key)
				if err == nil {
					got.Add(1)
				} else if !errors.Is(err, lock.ErrHeld) {
					t.Error(err)
				}
			})
		}
		start.Done()
		group.Wait()
		if n := got.Load(); n > 1 || n == 0 && !f.Quorum {
			t.Fatalf("%d of 8 got it", n)
		}
	}
}

// resource is something that only one may change at a time. written is not
// atomic on purpose: the race detector and the sum tell of two at once.
type resource struct {
	inside  atomic.Int64
	fence   atomic.Uint64
	written int
}

func (r *resource) write(fence uint64) error {
	if r.inside.Add(1) != 1 {
		return errors.New("two at once")
	}
	defer r.inside.Add(-1)
	if r.fence.Load() >= fence {
		return errors.New("a fence that is not greater than the last")
	}
	r.fence.Store(fence)
	r.written++
	return nil
}
