package rushgate

import (
	"context"
	"sync/atomic"
	"time"
)

// ticket is one request at the desk: claims, or an errand.
type ticket struct {
	asks    []Ask
	answers []Result
	errand  errand // nil for claims
	err     error  // why the errand failed

	state atomic.Uint32
	done  chan struct{} // receives once, when the ticket was answered
}

// weight is what the ticket counts in a batch: its claims, or one errand.
func (t *ticket) weight() int { return max(len(t.asks), 1) }

// The states of a ticket: whoever moves it away from waiting owns its fate.
const (
	ticketWaiting uint32 = iota
	ticketTaken          // by the desk: it will be answered
	ticketLeft           // by its caller: nothing happens
)

func newTicket(asks []Ask, e errand) *ticket {
	return &ticket{asks: asks, answers: make([]Result, len(asks)), errand: e, done: make(chan struct{}, 1)}
}

// on says whether the ticket concerns a sale.
func (t *ticket) on(sale string) bool {
	if t.errand != nil {
		return t.errand.on() == sale
	}
	for i := range t.asks {
		if t.asks[i].Sale == sale {
			return true
		}
	}
	return false
}

// wait queues a ticket and waits for its answer. When the caller gives up
// first and the desk has not begun, nothing happens; when it has begun, the
// answer is near, and the caller gets it.
func (d *desk) wait(ctx context.Context, t *ticket) error {
	if err := d.enqueue(t); err != nil {
		return err
	}
	gone := ctx.Done()
	if gone == nil { // nobody can give up: a plain receive is cheaper
		<-t.done
		return nil
	}
	select {
	case <-t.done:
		return nil
	case <-gone:
		if t.state.CompareAndSwap(ticketWaiting, ticketLeft) {
			return unavailable(ctx.Err(), "the caller gave up while waiting; nothing was granted")
		}
		<-t.done
		return nil
	}
}

// enqueue puts a ticket at the end of the queue. Claims and errands have a
// bound of their own each: a stampede must not keep an operator out, nor a
// buyer who has paid.
func (d *desk) enqueue(t *ticket) error {
	d.mu.Lock()
	switch {
	case d.closed:
		d.mu.Unlock()
		return unavailable(d.failure(), "the server is stopping; nothing was done")
	case d.claims+len(t.asks) > d.queueLimit || t.errand != nil && d.errands >= d.queueLimit:
		d.mu.Unlock()
		d.observe.Decided(Overloaded, len(t.asks))
		return errOverloaded
	}
	first := len(d.waiting) == 0
	d.waiting = append(d.waiting, t)
	d.count(t, 1)
	d.mu.Unlock()
	if first {
		select {
		case d.wake <- struct{}{}:
		default:
		}
	}
	return nil
}

// count adds a ticket to what waits, or takes it out. d.mu is held.
func (d *desk) count(t *ticket, n int) {
	if t.errand != nil {
		d.errands += n
	} else {
		d.claims += n * len(t.asks)
	}
}

// errOverloaded is shared: under a stampede it is given away by the thousand.
var errOverloaded = &Error{Code: Overloaded, RetryAfter: time.Second,
	Message: "too many requests wait already; nothing was done"}

func (d *desk) depth() (claims, errands int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.claims, d.errands
}

// take fills the batch with what waits, up to the limit. An errand that must
// be alone ends the batch before it, and is a batch of its own.
func (d *desk) take(b *batch) bool {
	b.reset()
	d.mu.Lock()
	defer d.mu.Unlock()
	n, load := 0, 0
	for ; n < len(d.waiting); n++ {
		t := d.waiting[n]
		alone := t.errand != nil && t.errand.alone()
		if n > 0 && (alone || load+t.weight() > d.batchLimit) {
			break
		}
		load += t.weight()
		d.count(t, -1)
		if t.state.CompareAndSwap(ticketWaiting, ticketTaken) {
			b.tickets = append(b.tickets, t)
		}
		if alone {
			n++
			break
		}
	}
	rest := copy(d.waiting, d.waiting[n:])
	clear(d.waiting[rest:])
	d.waiting = d.waiting[:rest]
	return n > 0
}
