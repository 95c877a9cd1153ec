package load

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// run is a plan being carried out.
type run struct {
	plan      Plan
	addr      string
	request   *template
	users     *users
	began     time.Time
	recorders []*recorder
	sent      atomic.Int64 // closed loop: requests that were begun
}

// recorderCount is how many recorders share the connections: enough that they
// do not wait for each other.
const recorderCount = 8

// Run carries out a plan and reports. Cancelling ctx ends it early; the report
// then tells of the part that was done. The error is about the plan, or a
// server that cannot be reached at all.
func Run(ctx context.Context, p Plan) (*Report, error) {
	addr, err := p.complete()
	if err != nil {
		return nil, err
	}
	r := &run{plan: p, addr: addr, request: newTemplate(&p, addr), users: newUsers(p.Names, p.Seed)}
	for range recorderCount {
		r.recorders = append(r.recorders, newRecorder())
	}
	connections, err := r.connect(ctx)
	if err != nil {
		return nil, err
	}
	r.began = time.Now()
	var workers sync.WaitGroup
	if p.Mode == Open {
		due := make(chan time.Duration, r.backlog())
		for i, c := range connections {
			workers.Go(func() { r.serveDue(ctx, c, r.recorders[i%recorderCount], due) })
		}
		r.pace(ctx, due)
	} else {
		for i, c := range connections {
			workers.Go(func() { r.repeat(ctx, c, r.recorders[i%recorderCount]) })
		}
	}
	sending := time.Since(r.began)
	workers.Wait()
	total := newRecorder()
	for _, rec := range r.recorders {
		total.merge(rec)
	}
	if p.Mode == Closed {
		sending = time.Since(r.began)
	}
	return newReport(&p, total, sending, time.Since(r.began)), nil
}

// connect opens the connections before the clock starts: the cost of opening
// them is not what is measured.
func (r *run) connect(ctx context.Context) ([]*connection, error) {
	deadline := time.Now().Add(r.plan.Duration + r.plan.AnswerTimeout + 5*time.Second)
	list := make([]*connection, r.plan.Connections)
	for i := range list {
		list[i] = newConnection(r.addr, r.request, deadline)
		if err := list[i].dial(ctx); err != nil {
			for _, c := range list[:i] {
				c.close()
			}
			return nil, fmt.Errorf("connection %d of %d to %s: %w", i+1, len(list), r.addr, err)
		}
	}
	return list, nil
}

// backlog is how many requests may be due and wait for a connection: as many
// as come due until they are given up.
func (r *run) backlog() int {
	patience := r.plan.GiveUp
	if patience == 0 {
		patience = r.plan.Duration
	}
	const most = 1 << 22 // 32 MB of moments
	return int(min(max(r.plan.Rate*patience.Seconds(), 1024), most))
}

// serveDue sends what is due, one at a time. What is still due when even the
// time for answers is over is not sent any more.
func (r *run) serveDue(ctx context.Context, c *connection, rec *recorder, due <-chan time.Duration) {
	defer c.close()
	over := r.plan.Duration + r.plan.AnswerTimeout
	for at := range due {
		now := time.Since(r.began)
		if ctx.Err() != nil || now > over || r.plan.GiveUp > 0 && now-at > r.plan.GiveUp {
			rec.unsent(at, r.plan.Warmup)
			continue
		}
		r.exchange(ctx, c, rec, at, now)
	}
}

// repeat sends the next request when the last answer has come.
func (r *run) repeat(ctx context.Context, c *connection, rec *recorder) {
	defer c.close()
	for ctx.Err() == nil {
		now := time.Since(r.began)
		if now >= r.plan.Duration || r.plan.Requests > 0 && r.sent.Add(1) > r.plan.Requests {
			return
		}
		r.exchange(ctx, c, rec, now, now)
	}
}

func (r *run) exchange(ctx context.Context, c *connection, rec *recorder, due, sent time.Duration) {
	e := exchange{due: due, sent: sent, batch: r.plan.PerRequest > 1}
	err := c.exchange(ctx, r.users)
	switch err {
	case nil:
		e.answer = &c.answer
	case errNotSent:
		rec.unsent(due, r.plan.Warmup)
		pause(ctx, redialPause)
		return
	}
	e.done = time.Since(r.began)
	rec.record(&e, r.plan.Warmup)
}

// redialPause keeps a dead server from being knocked at a million times.
const redialPause = 10 * time.Millisecond

func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}
