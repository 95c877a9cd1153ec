package clustertest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"rushgate/client"
)

// crowd is people who want one each, through the balancer. Whoever gets no
// answer, or is told to come back, asks again with the same key until there is
// an answer: a claim, or that nothing is left.
type crowd struct {
	*journal
	cluster *cluster
	client  *client.Client
	seed    uint64
	plain   bool          // they want a claim, and do nothing with it
	frozen  bool          // that the sale is frozen is no last word
	calm    time.Duration // which everybody takes before they ask

	moments []*moment
	pending atomic.Int64
	asks    chan *person
	done    chan struct{}
}

// moment is when something happens to the cluster.
type moment struct {
	at int // claims that somebody was told of
	do func(context.Context)
}

// person is one who wants a unit.
type person struct {
	user, key string
	random    *rand.Rand
	lost      bool // an answer got lost: the next one is held against a third
	claim     *client.Claim
	then      string // what is still to be done with the claim
}

// How many people ask at the same time, how long each waits for an answer, and
// how long the longest pause is before the next try. Real buyers have more
// patience.
const (
	hands     = 16
	askWait   = 4 * time.Second
	askPause  = 60 * time.Millisecond
	rushBound = 4 * time.Minute
)

func (c *cluster) crowd(seed uint64) *crowd {
	c.t.Helper()
	one := client.WithRetry(client.Retry{Attempts: 1})
	return &crowd{journal: newJournal(c.t), cluster: c, seed: seed, client: c.client(one, client.WithAttemptTimeout(askWait))}
}

// at has something happen beside the crowd, once so many claims were
// acknowledged. Moments come one after the other, in their order.
func (c *crowd) at(acknowledged int, do func(context.Context)) {
	c.moments = append(c.moments, &moment{acknowledged, do})
}

// rush lets so many people in, and returns when all of them and all moments are
// through.
func (c *crowd) rush(people int) {
	t := c.cluster.t
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), rushBound)
	defer cancel()
	c.asks, c.done = make(chan *person, people), make(chan struct{})
	c.pending.Store(int64(people))
	for i := range people {
		c.asks <- &person{user: fmt.Sprintf("u%d", i), key: fmt.Sprintf("key-%d", i), random: rand.New(rand.NewPCG(c.seed, uint64(i)))}
	}
	var wg sync.WaitGroup
	for range hands {
		wg.Go(func() { c.serve(ctx) })
	}
	wg.Go(func() { c.events(ctx) })
	wg.Wait()
	if ctx.Err() != nil {
		t.Fatalf("%d people have no answer after %s; %s", c.pending.Load(), rushBound, c.journal)
	}
	t.Log(c.journal)
	if t.Failed() {
		t.FailNow() // what comes after would only confuse
	}
}

// events brings about the moments.
func (c *crowd) events(ctx context.Context) {
	for _, m := range c.moments {
		for c.acknowledged() < m.at {
			select {
			case <-c.heard:
			case <-ctx.Done():
				return
			case <-c.done:
				if c.acknowledged() < m.at {
					c.t.Errorf("the crowd was through before %d claims were acknowledged", m.at)
					return
				}
			}
		}
		m.do(ctx)
	}
}

// serve takes people from the queue until nobody is left.
func (c *crowd) serve(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.done:
			return
		case p := <-c.asks:
			if c.calm > 0 && !rest(ctx, c.calm) {
				return
			}
			if !c.step(ctx, p) {
				time.AfterFunc(rand.N(askPause), func() { c.asks <- p })
			} else if c.pending.Add(-1) == 0 {
				close(c.done)
			}
		}
	}
}

// rest lets a moment pass, or returns false when ctx ends first.
func rest(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// step does what a person does next, and says whether they are through.
func (c *crowd) step(ctx context.Context, p *person) bool {
	switch {
	case p.claim == nil:
		return c.ask(ctx, p)
	case p.then == "confirmed":
		return c.move(ctx, p, c.client.Confirm)
	case p.then == "released":
		return c.move(ctx, p, c.client.Release)
	case p.then == "again":
		return c.again(ctx, p)
	case p.then == "another":
		return c.another(ctx, p)
	}
	return true
}

// later says that an answer is still to come: it got lost, or was "not now".
func (c *crowd) later(err error) bool {
	code := client.CodeOf(err)
	c.count(code)
	switch code {
	case client.Unreachable:
		return true
	case client.Frozen:
		return c.frozen
	case client.Unavailable, client.Overloaded:
		if e := err.(*client.Error); e.RetryAfter <= 0 || e.Status != 503 {
			c.t.Errorf("told to come back, and not when: %d %v", e.Status, err)
		}
		return true
	}
	return false
}

// ask is the first wish, however often it has to be said.
func (c *crowd) ask(ctx context.Context, p *person) bool {
	claim, err := c.client.Claim(ctx, sale, client.Ask{User: p.user, Item: "a", Key: p.key})
	switch {
	case c.later(err):
		p.lost = p.lost || client.CodeOf(err) == client.Unreachable
		return false
	case client.CodeOf(err) == client.SoldOut:
		c.refuse(p.user)
		return true
	case err != nil:
		c.t.Errorf("%s claims: %v", p.user, err)
		return true
	}
	c.acknowledge(claim)
	p.claim = claim
	p.then = c.plan(p)
	return p.then == ""
}

// plan is what a person does with a claim.
func (c *crowd) plan(p *person) string {
	if p.lost {
		return "again"
	}
	n := p.random.IntN(100)
	switch {
	case c.plain:
		return ""
	case n < 15:
		return "confirmed"
	case n < 25:
		return "released"
	case n < 35:
		return "again"
	case n < 45:
		return "another"
	}
	return ""
}

// move confirms or releases.
func (c *crowd) move(ctx context.Context, p *person, do func(context.Context, string) (*client.Claim, error)) bool {
	claim, err := do(ctx, p.claim.ID)
	switch {
	case c.later(err):
		c.unmoved(p.claim.ID, p.then)
		return false
	case err != nil || claim.State != p.then:
		c.t.Errorf("claim %s of %s to %s: %+v, %v", p.claim.ID, p.user, p.then, claim, err)
	default:
		c.acknowledge(claim)
	}
	return true
}

// again uses the same key, which tells the same claim.
func (c *crowd) again(ctx context.Context, p *person) bool {
	claim, err := c.client.Claim(ctx, sale, client.Ask{User: p.user, Item: "a", Key: p.key})
	if c.later(err) {
		return false
	}
	if err != nil || claim.ID != p.claim.ID || !claim.Replayed {
		c.t.Errorf("the key of claim %s of %s answers %+v, %v", p.claim.ID, p.user, claim, err)
	}
	return true
}

// another is somebody who has one and wants one more. Where nothing is left, a
// node may say that first.
func (c *crowd) another(ctx context.Context, p *person) bool {
	claim, err := c.client.Claim(ctx, sale, client.Ask{User: p.user, Item: "a", Key: "more-" + p.key})
	if c.later(err) {
		return false
	}
	switch code := client.CodeOf(err); {
	case code == client.SoldOut:
	case code != client.LimitReached:
		c.t.Errorf("%s has claim %s and asks for more: %+v, %v", p.user, p.claim.ID, claim, err)
	case !slices.Equal(err.(*client.Error).Claims, []string{p.claim.ID}):
		c.t.Errorf("%s has claim %s, and is told of %v", p.user, p.claim.ID, err.(*client.Error).Claims)
	}
	return true
}
