package locktest

import (
	"context"
	"errors"
	"testing"
	"time"

	"rushgate/lock"
)

// desk is two processes that use one backend.
type desk struct {
	*testing.T
	f    Factory
	raw  lock.Backend // behind the spy
	spy  *spy
	a, b *lock.Locker
	opts lock.Options
}

// newDesk returns a desk on a fresh backend. Its b is always in time: a short lease
// is a's.
func newDesk(t *testing.T, f Factory, opts lock.Options) *desk {
	raw := f.New(t)
	return newDeskOn(t, f, raw, raw, opts)
}

func newDeskOn(t *testing.T, f Factory, raw, b lock.Backend, opts lock.Options) *desk {
	d := &desk{T: t, f: f, raw: raw, spy: newSpy(b), opts: opts}
	d.a = newLocker(t, d.spy, opts)
	opts.Lease = max(opts.Lease, time.Minute)
	d.b = newLocker(t, d.spy, opts)
	return d
}

func (d *desk) must(h *lock.Held, err error) *lock.Held {
	d.Helper()
	if err != nil {
		d.Fatal(err)
	}
	return h
}

func (d *desk) mustFail(want error, h *lock.Held, err error) {
	d.Helper()
	if !errors.Is(err, want) || h != nil {
		d.Fatalf("%v, want %v", err, want)
	}
}

func (d *desk) unlock(h *lock.Held) {
	d.Helper()
	if err := h.Unlock(d.Context()); err != nil {
		d.Fatal(err)
	}
}

// ended waits for the end of a held context and checks its cause.
func (d *desk) ended(h *lock.Held, want error) {
	d.Helper()
	ended(d.T, h, want)
}

func lockers(t *testing.T, f Factory) {
	quick := lock.Options{Lease: 4 * time.Second}
	for _, c := range []struct {
		name string
		opts lock.Options
		test func(*desk)
	}{
		{"OneAtATime", lock.Options{}, oneAtATime},
		{"ReadersShare", lock.Options{}, readersShare},
		{"Permits", lock.Options{}, somePermits},
		{"TheSameOwner", lock.Options{}, sameOwner},
		{"AllOrNone", lock.Options{}, allOrNone},
		{"WhatIsHeldIsRenewed", quick, renewed},
		{"WithoutRenewalItEnds", lock.Options{Lease: 2 * time.Second}, notRenewed},
		{"WhatIsLostIsSaid", quick, lost},
		{"CloseGivesEverythingBack", lock.Options{}, closing},
		{"NonsenseIsRefused", lock.Options{}, nonsense},
	} {
		t.Run(c.name, func(t *testing.T) {
			raw := f.New(t)
			c.test(newDeskOn(t, f, raw, f.inStep(raw), c.opts))
		})
	}
}

func oneAtATime(d *desk) {
	h := d.must(d.a.TryLock(d.Context(), "k"))
	if !h.Valid() || h.Context().Err() != nil || h.Key() != "k" || h.Fence() == 0 || h.Left() <= 0 {
		d.Fatalf("held, but not well: %v", h.Context().Err())
	}
	x, err := d.b.TryLock(d.Context(), "k")
	d.mustFail(lock.ErrHeld, x, err)
	d.unlock(d.must(d.b.TryLock(d.Context(), "other")))
	d.unlock(h)
	d.ended(h, lock.ErrReleased)
	if err := h.Unlock(d.Context()); !errors.Is(err, lock.ErrReleased) {
		d.Fatalf("unlocked twice: %v", err)
	}
	next := d.must(d.b.Lock(d.Context(), "k"))
	if next.Fence() <= h.Fence() {
		d.Fatalf("a fence of %d after %d", next.Fence(), h.Fence())
	}
	d.unlock(next)
}

func readersShare(d *desk) {
	r1, r2 := d.must(d.a.RLock(d.Context(), "k")), d.must(d.b.TryRLock(d.Context(), "k"))
	x, err := d.b.TryLock(d.Context(), "k")
	d.mustFail(lock.ErrHeld, x, err)
	d.unlock(r1)
	d.unlock(r2)
	w := d.must(d.b.TryLock(d.Context(), "k"))
	x, err = d.a.TryRLock(d.Context(), "k")
	d.mustFail(lock.ErrHeld, x, err)
	d.unlock(w)
}

func somePermits(d *desk) {
	two := d.must(d.a.Acquire(d.Context(), "k", 2, 3))
	x, err := d.b.TryAcquire(d.Context(), "k", 2, 3)
	d.mustFail(lock.ErrHeld, x, err)
	one := d.must(d.b.TryAcquire(d.Context(), "k", 1, 3))
	d.unlock(two)
	d.unlock(d.must(d.b.TryAcquire(d.Context(), "k", 2, 3)))
	d.unlock(one)
}

func sameOwner(d *desk) {
	as := lock.As("job7")
	h1 := d.must(d.a.Lock(d.Context(), "k", as))
	h2 := d.must(d.b.Lock(d.Context(), "k", as)) // in another process
	if h2.Fence() < h1.Fence() || h2.Fence() > h1.Fence() && !d.f.Quorum {
		d.Fatalf("one owner has fences %d and %d", h1.Fence(), h2.Fence())
	}
	d.unlock(h1)
	x, err := d.a.TryLock(d.Context(), "k")
	d.mustFail(lock.ErrHeld, x, err)
	d.unlock(h2)
	r := d.must(d.a.RLock(d.Context(), "k", as))
	x, err = d.a.Lock(d.Context(), "k", as)
	d.mustFail(lock.ErrUpgrade, x, err)
	d.unlock(r)
}

func allOrNone(d *desk) {
	one := d.must(d.a.Lock(d.Context(), "b"))
	if got, err := d.b.TryLockAll(d.Context(), []string{"c", "a", "b"}); !errors.Is(err, lock.ErrHeld) || got != nil {
		d.Fatal(err)
	}
	d.unlock(d.must(d.a.TryLock(d.Context(), "a"))) // it was given back
	d.unlock(one)
	got, err := d.b.LockAll(d.Context(), []string{"c", "a", "b"})
	if err != nil {
		d.Fatal(err)
	}
	x, err := d.a.TryLock(d.Context(), "c")
	d.mustFail(lock.ErrHeld, x, err)
	if !got.Valid() || got.Held("b") == nil || got.Held("z") != nil || got.Context().Err() != nil {
		d.Fatal("held, but not well")
	}
	if err := got.Unlock(d.Context()); err != nil || got.Context().Err() == nil {
		d.Fatal(err)
	}
	for _, keys := range [][]string{nil, {"a", "a"}, {"a", ""}} {
		if _, err := d.a.LockAll(d.Context(), keys); !errors.Is(err, lock.ErrInvalid) {
			d.Fatalf("%q: %v", keys, err)
		}
	}
}

func renewed(d *desk) {
	h := d.must(d.a.Lock(d.Context(), "k"))
	for i := range 5 { // longer than the lease that the first of them gave
		d.spy.seen(d, "renew granted", i+1)
		x, err := d.b.TryLock(d.Context(), "k")
		d.mustFail(lock.ErrHeld, x, err)
	}
	if !h.Valid() {
		d.Fatal(context.Cause(h.Context()))
	}
	d.unlock(h)
	if n := d.spy.times("renew gone"); n > 0 {
		d.Fatalf("%d renewals after the unlock", n)
	}
}

func notRenewed(d *desk) {
	h := d.must(d.a.Lock(d.Context(), "k", lock.WithoutRenewal()))
	next := d.must(d.b.Lock(d.Context(), "k"))
	d.ended(h, lock.ErrLost)
	if err := h.Unlock(d.Context()); !errors.Is(err, lock.ErrLost) {
		d.Fatal(err)
	}
	if !next.Valid() || d.spy.times("renew gone") > 0 {
		d.Fatal(context.Cause(next.Context()))
	}
	d.unlock(next)
}

// lost has the server forget a claim that somebody relies on.
func lost(d *desk) {
	const owner = "job"
	h := d.must(d.a.Lock(d.Context(), "k", lock.As(owner)))
	d.f.Expire(d, d.raw, "k", owner)
	d.ended(h, lock.ErrLost)
	next := d.must(d.b.Lock(d.Context(), "k"))
	if err := h.Unlock(d.Context()); !errors.Is(err, lock.ErrLost) {
		d.Fatal(err)
	}
	if next.Fence() <= h.Fence() {
		d.Fatalf("a fence of %d after %d", next.Fence(), h.Fence())
	}
	x, err := d.a.TryLock(d.Context(), "k")
	d.mustFail(lock.ErrHeld, x, err)
	d.unlock(next)
}

func closing(d *desk) {
	l := newLocker(d, d.spy, d.opts)
	h1, h2 := d.must(l.Lock(d.Context(), "k1")), d.must(l.Lock(d.Context(), "k2"))
	if err := l.Close(); err != nil {
		d.Fatal(err)
	}
	for _, h := range []*lock.Held{h1, h2} {
		d.ended(h, lock.ErrClosed)
		if err := h.Unlock(d.Context()); !errors.Is(err, lock.ErrClosed) {
			d.Fatal(err)
		}
		d.unlock(d.must(d.b.TryLock(d.Context(), h.Key())))
	}
	x, err := l.Lock(d.Context(), "k")
	d.mustFail(lock.ErrClosed, x, err)
	x, err = l.TryLock(d.Context(), "k")
	d.mustFail(lock.ErrClosed, x, err)
}

func nonsense(d *desk) {
	long := string(make([]byte, lock.MaxKey+1))
	for _, key := range []string{"", "a{b}", "a b", "a\nb", "\xff", long} {
		x, err := d.a.Lock(d.Context(), key)
		d.mustFail(lock.ErrInvalid, x, err)
	}
	for _, n := range [][2]int{{0, 1}, {2, 1}, {-1, 1}, {1, lock.MaxPermits + 1}} {
		x, err := d.a.TryAcquire(d.Context(), "k", n[0], n[1])
		d.mustFail(lock.ErrInvalid, x, err)
	}
	for _, o := range []lock.Option{lock.As(""), lock.As("~me"), lock.WithLease(time.Millisecond), lock.WithLease(2 * time.Hour), lock.WithMaxWait(-1)} {
		x, err := d.a.Lock(d.Context(), "k", o)
		d.mustFail(lock.ErrInvalid, x, err)
	}
	ctx, cancel := context.WithCancel(d.Context())
	cancel()
	x, err := d.a.Lock(ctx, "k")
	d.mustFail(context.Canceled, x, err)
}
