package app

import (
	"context"
	"sync/atomic"
	"time"
)

// duty is the chores of all nodes: sweeping, auditing, adopting. Whoever has the
// lease does them; the others look now and then whether it is free. That two do
// them for a moment does no harm. Whoever does not reach the gate can do none of
// them, and leaves them to others until it does.
type duty struct {
	keeper *keeper
	reach  func(context.Context) error // asks the gate for a trifle
	mine   atomic.Bool
	cancel context.CancelFunc
	done   chan struct{}
}

// silentLooks is how often in a row the gate must not answer until the chores are
// given back: one answer may get lost.
const silentLooks = 3

// beginDuty applies for the chores until its end is called.
func beginDuty(k *keeper, reach func(context.Context) error) *duty {
	ctx, cancel := context.WithCancel(context.Background())
	d := &duty{keeper: k, reach: reach, cancel: cancel, done: make(chan struct{})}
	go d.run(ctx)
	return d
}

func (d *duty) run(ctx context.Context) {
	defer close(d.done)
	look := time.NewTicker(max(d.keeper.ttl/renewals, time.Millisecond))
	defer look.Stop()
	for {
		if d.reach(ctx) == nil {
			if t, _, err := d.keeper.take(ctx, leaseChores); t != nil && err == nil {
				d.serve(ctx, t, look.C)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-look.C:
		}
	}
}

// serve has the chores until the lease is lost, the gate is silent, or ctx ends.
func (d *duty) serve(ctx context.Context, t *tenure, look <-chan time.Time) {
	d.mine.Store(true)
	defer t.end()
	defer d.mine.Store(false)
	for silent := 0; silent < silentLooks; {
		select {
		case <-t.lost:
			return
		case <-ctx.Done():
			return
		case <-look:
		}
		err := d.reach(ctx)
		if silent++; err == nil {
			silent = 0
		}
		if silent == silentLooks {
			d.keeper.log.Warn("this node does not reach the gate, and leaves the chores to others", "error", err)
		}
	}
}

func (d *duty) end() {
	d.cancel()
	<-d.done
}
