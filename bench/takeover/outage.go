package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"rushgate/client"
	"rushgate/internal/fleet"
)

// How often somebody asks, and how long each waits for the answer. The first is
// how exact the result is.
const (
	askEvery     = 10 * time.Millisecond
	answerWithin = 2 * time.Second
)

// steady is how long a cluster must sell before a disaster and after it.
const steady = time.Second

// outage has people ask at a steady rate, whether or not those before them have
// an answer, lets a disaster happen, and returns the longest time without a
// grant, as soon as the cluster sells again. The disaster comes at any moment of
// a period, such as that in which a leader renews its lease.
func outage(ctx context.Context, f *fleet.Fleet, disaster func() error, period time.Duration) (time.Duration, error) {
	c, err := buyer(f)
	if err != nil {
		return 0, err
	}
	w := &watch{}
	asking, stop := context.WithCancel(ctx)
	var crowd sync.WaitGroup
	crowd.Go(func() { w.askSteadily(asking, c) })
	defer crowd.Wait()
	defer stop()
	if err := until(ctx, func() error { return w.sells(time.Now().Add(-steady)) }); err != nil {
		return 0, err
	}
	if err := wait(ctx, rand.N(period)); err != nil {
		return 0, err
	}
	began := w.restart()
	if err := disaster(); err != nil {
		return 0, err
	}
	// Those who asked before the disaster may still hear of their claims.
	err = until(ctx, func() error { return w.sells(began.Add(answerWithin)) })
	if err != nil {
		return 0, err
	}
	err = until(ctx, func() error { return w.calm(steady) })
	return w.longest(), err
}

// watch remembers when claims were granted.
type watch struct {
	mu    sync.Mutex
	last  time.Time     // of the latest grant
	since time.Time     // of the first grant after the latest gap
	gap   time.Duration // the longest between two grants
	asked int
}

// askSteadily asks until ctx ends.
func (w *watch) askSteadily(ctx context.Context, c *client.Client) {
	var all sync.WaitGroup
	defer all.Wait()
	tick := time.NewTicker(askEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		w.mu.Lock()
		w.asked++
		user := fmt.Sprintf("u%d", w.asked)
		w.mu.Unlock()
		all.Go(func() {
			if _, err := c.Claim(ctx, "s", client.Ask{User: user}); err == nil {
				w.grant()
			}
		})
	}
}

// pauseOf is what counts as an interruption: far more than a batch takes.
const pauseOf = 250 * time.Millisecond

func (w *watch) grant() {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	switch gap := now.Sub(w.last); {
	case w.last.IsZero():
		w.since = now
	case gap > pauseOf:
		w.since = now
		fallthrough
	default:
		w.gap = max(w.gap, gap)
	}
	w.last = now
}

// restart forgets the gaps until now, and returns when that was.
func (w *watch) restart() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.gap = 0
	return time.Now()
}

// sells is an error unless something was granted after a moment.
func (w *watch) sells(after time.Time) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.last.After(after) {
		return nil
	}
	return errors.New("nothing is granted")
}

// calm is an error unless the cluster has sold without a gap for so long.
func (w *watch) calm(d time.Duration) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.last.Sub(w.since) < d {
		return errors.New("it does not sell steadily")
	}
	return nil
}

func (w *watch) longest() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.gap
}
