package trial

import (
	"context"
	"errors"
	"os/exec"
	"sync/atomic"
	"time"

	"rushgate/lab"
)

// quiet is how long the books may take until they are settled, and read.
const quiet = 15 * time.Second

// Outcome is what became of one way in all its sales.
type Outcome struct {
	Name     string       `json:"name"`
	Family   lab.Family   `json:"family"`
	Title    string       `json:"title"`
	Why      string       `json:"why"`
	Durable  bool         `json:"durable"` // an order that was promised survives a power cut
	Promises lab.Promises `json:"promises"`

	// The rush.
	Books
	Speed

	Pause    *Books `json:"pause,omitempty"`
	Crash    *Books `json:"crash,omitempty"`
	Failover *Books `json:"failover,omitempty"` // of ways that sell in Redis
	Admin    *Admin `json:"admin,omitempty"`
	// LostAfterCrash is what the crash took with it: orders and units. Null when
	// nobody was killed.
	LostAfterCrash *int `json:"lost_after_crash"`

	Verdict string `json:"verdict"`
	Problem string `json:"problem,omitempty"` // why it could not be tried, or not to the end
}

// Setup is what a run needs of the world.
type Setup struct {
	Plan Plan
	// Place makes a place for one sale, on which nothing is left of another one.
	Place func(ctx context.Context, way lab.Way) (lab.Place, error)
	// Replicate starts a Redis with a replica, for one sale; nil where the Redis is
	// not ours to kill.
	Replicate func() (Pair, error)
	// Count counts what the servers of a way have carried out so far; nil where
	// nobody counts.
	Count func(ctx context.Context, way lab.Way) (Count, error)
	// Command makes the command of a process that calls Sell.
	Command func() *exec.Cmd
	// Watch is told how it goes.
	Watch *Watch
}

// Pair is a Redis and its replica, at one address.
type Pair interface {
	Address() string
	Agree() error    // the replica has heard of everything that was written
	Lag()            // from now on the replica does not hear what is written
	FailOver() error // the master is dead, and the replica is master
	Stop()
}

// Watch shows how a run goes, while it goes.
type Watch struct {
	now atomic.Pointer[Now]
}

// Now is a moment of a run.
type Now struct {
	Way, Sale      string
	Asked, Granted int64
	Buyers, Stock  int64
	crowd          *crowd
}

// Look returns the moment; the zero Now before the first sale.
func (w *Watch) Look() Now {
	n := w.now.Load()
	if n == nil {
		return Now{}
	}
	now := *n
	now.Asked, now.Granted = n.crowd.asked.Load(), n.crowd.granted.Load()
	return now
}

// runner takes one way through its sales.
type runner struct {
	Setup
	way lab.Way
}

// Run takes one way through all its sales. What goes wrong with the way is in the
// outcome, with all that was learned before.
func Run(ctx context.Context, setup Setup, way lab.Way) Outcome {
	r := &runner{Setup: setup, way: way}
	o := Outcome{Name: way.Name, Family: way.Family, Title: way.Title, Why: way.Why, Durable: way.Durable, Promises: way.Promises}
	if err := r.all(ctx, &o); err != nil {
		if ctx.Err() != nil {
			err = errors.New("interrupted")
		}
		o.Problem = err.Error()
	}
	o.Verdict = o.verdict()
	return o
}

// all goes through the sales, each at a place of its own.
func (r *runner) all(ctx context.Context, o *Outcome) error {
	place, err := r.Place(ctx, r.way)
	if err != nil {
		return err
	}
	if o.Books, o.Speed, err = r.rush(ctx, place); err != nil {
		return err
	}
	if r.Plan.Admin {
		if place, err = r.Place(ctx, r.way); err != nil {
			return err
		}
		a, err := r.administer(ctx, place)
		if err != nil {
			return err
		}
		o.Admin = &a
	}
	if r.Plan.Pause {
		if o.Pause, err = r.disaster(ctx, pauses); err != nil {
			return err
		}
	}
	if r.Plan.Crash {
		if o.Crash, err = r.disaster(ctx, crashes); err != nil {
			return err
		}
		lost := o.Crash.Lost()
		o.LostAfterCrash = &lost
	}
	if r.Plan.Failover && r.Replicate != nil && r.way.InRedis() {
		if o.Failover, err = r.failover(ctx); err != nil {
			return err
		}
	}
	return nil
}

// failover is the sale in which Redis fails over to a replica that is behind.
func (r *runner) failover(ctx context.Context) (*Books, error) {
	pair, err := r.Replicate()
	if err != nil {
		return nil, err
	}
	defer pair.Stop()
	return r.disaster(ctx, failsOver(pair))
}

func (r *runner) disaster(ctx context.Context, d disaster) (*Books, error) {
	place, err := r.Place(ctx, r.way)
	if err != nil {
		return nil, err
	}
	if d.redis != "" {
		place.Redis = append([]string{d.redis}, place.Redis[1:]...)
	}
	place.Work, place.Lease = work, lab.Lease
	b, err := r.suffer(ctx, place, d)
	if err != nil {
		return nil, err
	}
	return &b, nil
}

// crowd makes the crowd of one sale, and lets it be watched.
func (r *runner) crowd(sale string, plan Plan, buy func(context.Context, int, lab.Order) (lab.Answer, error)) *crowd {
	c := &crowd{plan: plan, buy: buy}
	if r.Watch != nil {
		r.Watch.now.Store(&Now{Way: r.way.Name, Sale: sale, Buyers: int64(plan.Buyers), Stock: int64(plan.Stock), crowd: c})
	}
	return c
}
