package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"rushgate"
)

// keeper takes leases for this process, and keeps what it has.
type keeper struct {
	leases rushgate.Leases
	ttl    time.Duration
	holder string // of this process, unique
	note   string // what others may want to know of it
	log    *slog.Logger

	taken atomic.Int64 // leases that were asked for: each with a holder of its own
}

// tenure is a lease that this process has, and renews until it ends.
//
// It is lost when somebody else has it, and when it could not be renewed for as
// long as it lasts by this process's own clock, which began to count before the
// database's did. A process that was paused finds that out as soon as it wakes
// up. That is for quick and honest answers alone: what nobody may write without
// the lease, the ledger refuses.
type tenure struct {
	keeper *keeper
	lease  rushgate.Lease
	lost   chan struct{}
	why    error // set before lost is closed

	doubt atomic.Pointer[error] // why the last try to renew it failed
	once  sync.Once
	fuse  *time.Timer // burns down unless the lease is renewed

	cancel context.CancelFunc
	done   chan struct{}
}

// How often a lease is renewed while it lasts, and how often more when that
// fails.
const (
	renewals = 3
	retries  = 10
)

// take tries to get a lease. When somebody else has it, the tenure is nil, and
// other is that lease. What was taken is renewed until its end is called.
func (k *keeper) take(ctx context.Context, name string) (t *tenure, other rushgate.Lease, err error) {
	want := rushgate.Lease{Name: name, Holder: fmt.Sprintf("%s/%d", k.holder, k.taken.Add(1)), Note: k.note}
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, k.ttl)
	defer cancel()
	got, held, err := k.leases.Acquire(ctx, want, k.ttl)
	if err != nil || !held {
		return nil, got, err
	}
	t = &tenure{keeper: k, lease: got, lost: make(chan struct{}), done: make(chan struct{})}
	left := k.ttl - time.Since(began) // less than it lasts, if the ledger took its time
	t.fuse = time.AfterFunc(left, t.burnt)
	renewing, cancel := context.WithCancel(context.WithoutCancel(ctx))
	t.cancel = cancel
	go t.renew(renewing, left/renewals)
	return t, got, nil
}

// lose says that the lease is not this process's any more.
func (t *tenure) lose(why error) {
	t.once.Do(func() {
		t.why = why
		close(t.lost)
	})
}

// burnt ends the tenure by this process's own clock.
func (t *tenure) burnt() {
	err := errors.New("the ledger did not answer")
	if doubt := t.doubt.Load(); doubt != nil {
		err = *doubt
	}
	t.lose(fmt.Errorf("the lease %q could not be renewed for %s: %w", t.lease.Name, t.keeper.ttl, err))
}

// renew extends the lease until ctx ends or it is lost. Whoever has it only
// needs one good answer within the time that it lasts: what fails is tried again.
func (t *tenure) renew(ctx context.Context, first time.Duration) {
	defer close(t.done)
	timer := time.NewTimer(first)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.lost:
			return
		case <-timer.C:
		}
		if t.extend(ctx) {
			timer.Reset(t.keeper.ttl / renewals)
		} else {
			timer.Reset(t.keeper.ttl / retries)
		}
	}
}

// extend asks once for more time, and says whether it got it.
func (t *tenure) extend(ctx context.Context) bool {
	k := t.keeper
	asking, cancel := context.WithTimeout(ctx, k.ttl/renewals)
	defer cancel()
	began := time.Now()
	got, held, err := k.leases.Acquire(asking, t.lease, k.ttl)
	switch {
	case err != nil && ctx.Err() != nil:
		return false // the tenure ends: nobody wonders
	case err != nil:
		if t.doubt.Swap(&err) == nil {
			k.log.Warn("a lease could not be renewed; trying again", "lease", t.lease.Name, "error", err)
		}
		return false
	case !held || got.Term != t.lease.Term:
		t.lose(fmt.Errorf("the lease %q has gone to %s", t.lease.Name, readNote(got.Note).Name))
		return false
	}
	t.doubt.Store(nil)
	if left := k.ttl - time.Since(began); t.fuse.Stop() { // otherwise it has burnt
		t.fuse.Reset(left)
	}
	return true
}

// end stops the renewal and gives the lease back, so that others need not wait
// for its time to be over. Nobody may sell by it any more.
func (t *tenure) end() {
	t.cancel()
	<-t.done
	t.fuse.Stop()
	ctx, cancel := context.WithTimeout(context.Background(), t.keeper.ttl)
	defer cancel()
	if err := t.keeper.leases.Release(ctx, t.lease); err != nil {
		t.keeper.log.Warn("a lease could not be given back; it ends by itself", "lease", t.lease.Name, "within", t.keeper.ttl, "error", err)
	}
}
