package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"rushgate/client"
)

// crowd is many people who share a bounded number of connections: each worker
// plays one person after the other.
type crowd struct {
	buyers  *client.Client
	cashier *client.Client
	people  int64
	stock   int64
	workers int

	next     atomic.Int64 // the next person
	arrived  atomic.Int64 // people who have their answer
	sold     atomic.Int64
	began    atomic.Int64 // Unix nanoseconds
	lastSold atomic.Int64 // nanoseconds after began

	mu     sync.Mutex
	result outcome
}

// outcome is what a crowd met.
type outcome struct {
	answers   map[string]int // by code, "granted" among them
	confirmed int
	latencies []time.Duration // of claims, ascending
	took      time.Duration
	soldIn    time.Duration // from the opening to the last grant
	failure   error         // the first answer that nobody should get
}

func newCrowd(url, token string, d *demoCmd) (*crowd, error) {
	buyers, err := client.New(url)
	if err != nil {
		return nil, err
	}
	cashier, err := client.New(url, client.WithToken(token))
	if err != nil {
		return nil, err
	}
	return &crowd{buyers: buyers, cashier: cashier, people: int64(d.People), stock: d.Stock,
		workers: min(d.Connections, d.People), result: outcome{answers: map[string]int{}}}, nil
}

// rush lets everybody in and returns when everybody has an answer.
func (c *crowd) rush(ctx context.Context) (*outcome, error) {
	defer c.buyers.Close()
	defer c.cashier.Close()
	began := time.Now()
	c.began.Store(began.UnixNano())
	var wg sync.WaitGroup
	for range c.workers {
		wg.Go(func() { c.work(ctx) })
	}
	wg.Wait()
	c.result.took = time.Since(began)
	c.result.soldIn = time.Duration(c.lastSold.Load())
	slices.Sort(c.result.latencies)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if c.result.failure != nil {
		return nil, fmt.Errorf("somebody in the crowd got no proper answer: %w", c.result.failure)
	}
	return &c.result, nil
}

// work plays people until there are none left, and adds up what they met.
func (c *crowd) work(ctx context.Context) {
	mine := outcome{answers: map[string]int{}}
	for ctx.Err() == nil {
		n := c.next.Add(1)
		if n > c.people {
			break
		}
		c.person(ctx, n, &mine)
		c.arrived.Add(1)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for code, n := range mine.answers {
		c.result.answers[code] += n
	}
	c.result.confirmed += mine.confirmed
	c.result.latencies = append(c.result.latencies, mine.latencies...)
	if c.result.failure == nil {
		c.result.failure = mine.failure
	}
}

// person is one person's rush: a claim, and payment for most who got one. One
// in ten is impatient and clicks again at once.
func (c *crowd) person(ctx context.Context, n int64, o *outcome) {
	user := fmt.Sprintf("person-%d", n)
	claim := c.claim(ctx, user, o)
	if n%10 == 0 {
		c.claim(ctx, user, o)
	}
	if claim == nil || n%8 == 0 {
		return // no phone, or still looking for the credit card
	}
	if _, err := c.cashier.Confirm(ctx, claim.ID); err != nil {
		o.fail(err)
		return
	}
	o.confirmed++
}

func (c *crowd) claim(ctx context.Context, user string, o *outcome) *client.Claim {
	began := time.Now()
	claim, err := c.buyers.Claim(ctx, demoSale, client.Ask{User: user})
	o.latencies = append(o.latencies, time.Since(began))
	switch code := client.CodeOf(err); {
	case err == nil:
		c.sold.Add(1)
		c.lastSold.Store(time.Now().UnixNano() - c.began.Load())
		o.answers["granted"]++
		return claim
	case code == client.SoldOut || code == client.LimitReached:
		o.answers[string(code)]++
	default:
		o.answers[string(code)]++
		o.fail(err)
	}
	return nil
}

func (o *outcome) fail(err error) {
	if o.failure == nil {
		o.failure = err
	}
}

// quantile returns the latency that so many of a hundred answers did not exceed.
func (o *outcome) quantile(percent float64) time.Duration {
	if len(o.latencies) == 0 {
		return 0
	}
	return o.latencies[min(int(float64(len(o.latencies))*percent/100), len(o.latencies)-1)]
}

// progress is the crowd at this moment.
func (c *crowd) progress() progress {
	return progress{arrived: c.arrived.Load(), people: c.people, sold: c.sold.Load(), stock: c.stock}
}
