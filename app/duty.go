package app

import (
	"context"
	"sync/atomic"
	"time"
)

// duty is the chores of all nodes: sweeping, auditing, adopting. Whoever has the
// lease does them; the others look now and then whether it is free. That two do
// them for a moment does no harm.
type duty struct {
	keeper *keeper
	mine   atomic.Bool
	cancel context.CancelFunc
	done   chan struct{}
}

// beginDuty applies for the chores until its end is called.
func beginDuty(k *keeper) *duty {
	ctx, cancel := context.WithCancel(context.Background())
	d := &duty{keeper: k, cancel: cancel, done: make(chan struct{})}
	go d.run(ctx)
	return d
}

func (d *duty) run(ctx context.Context) {
	defer close(d.done)
	look := time.NewTicker(max(d.keeper.ttl/renewals, time.Millisecond))
	defer look.Stop()
	for {
		if t, _, err := d.keeper.take(ctx, leaseChores); t != nil && err == nil {
			d.serve(ctx, t)
		}
		select {
		case <-ctx.Done():
			return
		case <-look.C:
		}
	}
}

// serve has the chores until the lease is lost or ctx ends.
func (d *duty) serve(ctx context.Context, t *tenure) {
	d.mine.Store(true)
	select {
	case <-t.lost:
	case <-ctx.Done():
	}
	d.mine.Store(false)
	t.end()
}

func (d *duty) end() {
	d.cancel()
	<-d.done
}
