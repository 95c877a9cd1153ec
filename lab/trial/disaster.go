package trial

import (
	"context"
	"fmt"
	"time"

	"rushgate/lab"
)

// disaster is what befalls the sellers of a sale, again and again until it ends.
type disaster struct {
	name string
	// at is when it strikes: so much of the stock sold, or so many buyers served.
	at     []float64
	strike func(ctx context.Context, s *sellers, n int) error
}

// Standstill is how long a seller stands still: twice the lease of the lab's
// locks.
const standstill = 2 * lab.Lease

// pauses stop one seller after the other for longer than a lock lasts.
var pauses = disaster{name: "pause", at: []float64{0.1, 0.25, 0.4, 0.55, 0.7, 0.85},
	strike: func(ctx context.Context, s *sellers, n int) error {
		p := s.at(n)
		if err := p.stop(); err != nil {
			return err
		}
		pause(ctx, standstill)
		return p.resume()
	}}

// crashes kill one seller after the other.
var crashes = disaster{name: "crash", at: []float64{0.2, 0.4, 0.6, 0.8},
	strike: func(ctx context.Context, s *sellers, n int) error { return s.crash(ctx, n) }}

// suffer runs one sale in which a disaster strikes.
func (r *runner) suffer(ctx context.Context, way lab.Way, place lab.Place, d disaster) (Books, error) {
	s, err := openSellers(r.command, way, place)
	if err != nil {
		return Books{}, err
	}
	defer s.close()
	if err := s.begin(ctx, r.plan.Stock); err != nil {
		return Books{}, err
	}
	c := r.crowd(d.name, s.buy)
	c.again = true
	c.plan.Think = max(c.plan.Think, breath)
	var marks []<-chan struct{}
	for _, at := range d.at {
		marks = append(marks, c.mark(at, at))
	}
	selling, cancel := context.WithTimeout(ctx, r.plan.Duration)
	defer cancel()
	struck := make(chan error, 1)
	over := make(chan struct{})
	go func() { struck <- strikes(ctx, over, marks, func(n int) error { return d.strike(ctx, s, n) }) }()
	all, gaveUp := c.rush(selling)
	finished := selling.Err() == nil
	close(over)
	if err := <-struck; err != nil {
		return Books{}, fmt.Errorf("%s: %w", d.name, err)
	}
	b, err := r.audit(ctx, s.all[0], r.plan.Stock, all, finished && gaveUp == nil)
	if err == nil {
		err = gaveUp
	}
	return b, err
}

// breath is how long buyers of a disaster take before they ask, at most: a sale
// that is over in a tenth of a second leaves no time for one.
const breath = 10 * time.Millisecond

// strikes waits for each mark in turn and strikes, until the sale is over.
func strikes(ctx context.Context, over <-chan struct{}, marks []<-chan struct{}, strike func(n int) error) error {
	for n, reached := range marks {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-over:
			return nil
		case <-reached:
		}
		if err := strike(n); err != nil {
			return err
		}
	}
	return nil
}
