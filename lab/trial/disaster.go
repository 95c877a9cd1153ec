package trial

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"rushgate/lab"
)

// disaster is what befalls a sale, again and again until everything is sold.
type disaster struct {
	name   string
	redis  string       // in which the sale is then, host:port; empty: that of the place
	begun  func() error // called when the sale has begun, before anybody is let in; may be nil
	most   int          // strikes
	strike func(ctx context.Context, s *sellers, c *crowd, n int) error
}

// It strikes first when so much of the stock is sold, or so many of the buyers
// are served, and then with a breath in between; sellers suffer so often at most.
const (
	firstStrike = 0.1
	mostStrikes = 8
)

// standstill is how long a seller stands still: longer than the locks of a disaster last.
const standstill = lab.Lease * 3 / 2

// pauses stop one seller after the other for longer than a lock lasts.
var pauses = disaster{name: "pause", most: mostStrikes,
	strike: func(ctx context.Context, s *sellers, _ *crowd, n int) error {
		p := s.at(n)
		if err := p.stop(); err != nil {
			return err
		}
		lab.Pause(ctx, standstill)
		return p.resume()
	}}

// crashes kill one seller after the other.
var crashes = disaster{name: "crash", most: mostStrikes,
	strike: func(ctx context.Context, s *sellers, _ *crowd, n int) error { return s.crash(ctx, n) }}

// A replica has not heard of its master for so long when that dies, and of so many
// sales at least, where they come by soon enough: one may have been on its way.
const (
	behind     = 30 * time.Millisecond
	unheard    = 2
	soonEnough = 2 * time.Second
)

// failsOver lets Redis fail over, once, to a replica that is a little behind:
// replication does not wait, and a replica that waits for its turn, for a slow
// network or for its own disk has not heard the last of it. Of the sale itself it
// has heard, or there would be none.
func failsOver(pair Pair) disaster {
	return disaster{name: "failover", redis: pair.Address(), begun: pair.Agree, most: 1,
		strike: func(ctx context.Context, _ *sellers, c *crowd, _ int) error {
			pair.Lag()
			sold := c.granted.Load()
			lab.Pause(ctx, behind)
			for waited := behind; c.granted.Load() < sold+unheard && waited < soonEnough; waited += behind {
				lab.Pause(ctx, behind)
			}
			return pair.FailOver()
		}}
}

// suffer runs one sale in which a disaster strikes.
func (r *runner) suffer(ctx context.Context, place lab.Place, d disaster) (Books, error) {
	s, err := openSellers(r.Command, r.way, place)
	if err != nil {
		return Books{}, err
	}
	defer s.close()
	plan := r.Plan.smaller()
	if err := s.begin(ctx, plan.Stock); err != nil {
		return Books{}, err
	}
	if d.begun != nil {
		if err := d.begun(); err != nil {
			return Books{}, fmt.Errorf("%s: %w", d.name, err)
		}
	}
	c := r.crowd(d.name, plan, s.buy)
	c.again = true
	c.plan.Think = max(c.plan.Think, breath)
	first := c.mark(firstStrike, firstStrike)
	var hit atomic.Bool
	c.enough = func() bool { return c.soldOut() && hit.Load() }
	struck := make(chan error, 1)
	over := make(chan struct{})
	go func() { struck <- d.befall(ctx, over, first, s, c, &hit) }()
	all, gaveUp := c.rush(ctx)
	finished := c.served() && gaveUp == nil
	close(over)
	if err := <-struck; err != nil {
		return Books{}, fmt.Errorf("%s: %w", d.name, err)
	}
	b, err := r.audit(ctx, plan, s.all[0], plan.Stock, all, finished)
	if err == nil {
		err = gaveUp
	}
	return b, err
}

// work is how long sellers of a disaster take between their steps: who does
// everything in no time is hardly ever caught in the middle.
const work = 5 * time.Millisecond

// smaller is the plan of a disaster, in which everything takes longer: it need
// not be sold out, only last for all strikes.
func (p Plan) smaller() Plan {
	p.Stock, p.Buyers = max(p.Stock/4, 1), max(p.Buyers/4, 1)
	p.Duration = p.Duration * 3 / 5
	return p
}

// breath is how long buyers of a disaster take before they ask, at most: a sale
// that is over in a tenth of a second leaves no time for one.
const breath = 10 * time.Millisecond

// befall strikes from the first mark on, until the sale is over, and says that it has.
func (d *disaster) befall(ctx context.Context, over, first <-chan struct{}, s *sellers, c *crowd, hit *atomic.Bool) error {
	next := first
	for n := range d.most {
		select {
		case <-over:
			return nil
		case <-next:
		}
		if err := d.strike(ctx, s, c, n); err != nil {
			return err
		}
		hit.Store(true)
		rest := make(chan struct{})
		timer := time.AfterFunc(breath, func() { close(rest) })
		defer timer.Stop()
		next = rest
	}
	return nil
}
