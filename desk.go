package rushgate

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// desk takes what waits, in the order of arrival, through gate and ledger
// together. There is no timer: the next batch forms while the last one
// commits, so an idle system answers at once and a stampede is served in
// large batches. One goroutine does it all; that is what makes "nothing is
// granted after freeze has answered" a matter of order and not of locks.
type desk struct {
	gate    Gate
	ledger  Ledger
	now     func() time.Time
	ids     *ids
	log     *slog.Logger
	observe Observer
	catalog *catalog
	watch   *watch

	queueLimit, batchLimit int

	mu      sync.Mutex
	waiting []*ticket
	load    int // the weight of what waits
	closed  bool

	wake   chan struct{} // something waits, or the desk was closed
	done   chan struct{} // the desk has ended
	failed chan struct{} // the desk gave up
	why    atomic.Pointer[error]

	pool sync.Pool // of claim tickets with one ask
}

func newDesk(cfg Config, ids *ids, c *catalog, w *watch) *desk {
	return &desk{gate: cfg.Gate, ledger: cfg.Ledger, now: cfg.Now, ids: ids, log: cfg.Log,
		observe: cfg.Observe, catalog: c, watch: w,
		queueLimit: cfg.QueueLimit, batchLimit: cfg.BatchLimit,
		wake: make(chan struct{}, 1), done: make(chan struct{}), failed: make(chan struct{}),
		pool: sync.Pool{New: func() any { return newTicket(make([]Ask, 1), nil) }}}
}

// ticket is one request at the desk: claims, or an errand.
type ticket struct {
	asks    []Ask
	answers []Result
	errand  errand // nil for claims
	err     error  // why the errand failed

	state atomic.Uint32
	done  chan struct{} // receives once, when the ticket was answered
}

// weight is what the ticket counts against the limits: its claims, or one errand.
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

// claim brings one ask through the desk.
func (d *desk) claim(ctx context.Context, a Ask) (Receipt, error) {
	t := d.pool.Get().(*ticket)
	t.asks[0], t.answers[0] = a, Result{}
	t.state.Store(ticketWaiting)
	if err := d.wait(ctx, t); err != nil {
		if err == errOverloaded {
			d.pool.Put(t)
		}
		return Receipt{}, err // otherwise not pooled: the desk may still hold it
	}
	r := t.answers[0]
	d.pool.Put(t)
	return d.replayed(ctx, &a, r)
}

// claimAll brings many asks through the desk, in one batch.
func (d *desk) claimAll(ctx context.Context, asks []Ask) ([]Result, error) {
	t := newTicket(asks, nil)
	if err := d.wait(ctx, t); err != nil {
		return nil, err
	}
	for i := range t.answers {
		r := &t.answers[i]
		r.Receipt, r.Err = d.replayed(ctx, &asks[i], *r)
	}
	return t.answers, nil
}

// replayed reads the claim of a replay, which the gate knows only by its id.
func (d *desk) replayed(ctx context.Context, a *Ask, r Result) (Receipt, error) {
	if r.Err != nil || !r.Replayed {
		return r.Receipt, r.Err
	}
	c, err := d.ledger.Claim(ctx, r.Claim.ID)
	if err != nil {
		return Receipt{}, unavailable(err, "the claim of this key cannot be read now")
	}
	if !a.Matches(&c) {
		return Receipt{}, &Error{Code: KeyReused, Field: "idempotency_key",
			Message: "the key was used for a different claim; use a new key for a new claim"}
	}
	return Receipt{Claim: c, Replayed: true}, nil
}

// run brings an errand through the desk.
func (d *desk) run(ctx context.Context, e errand) error {
	t := newTicket(nil, e)
	if err := d.wait(ctx, t); err != nil {
		return err
	}
	return t.err
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

func (d *desk) enqueue(t *ticket) error {
	d.mu.Lock()
	switch {
	case d.closed:
		d.mu.Unlock()
		return unavailable(d.failure(), "the server is stopping; nothing was granted")
	case d.load+t.weight() > d.queueLimit:
		d.mu.Unlock()
		d.observe.Decided(Overloaded, len(t.asks))
		return errOverloaded
	}
	first := len(d.waiting) == 0
	d.waiting = append(d.waiting, t)
	d.load += t.weight()
	d.mu.Unlock()
	if first {
		select {
		case d.wake <- struct{}{}:
		default:
		}
	}
	return nil
}

// errOverloaded is shared: under a stampede it is given away by the thousand.
var errOverloaded = &Error{Code: Overloaded, RetryAfter: time.Second,
	Message: "too many requests wait already; nothing was granted"}

func (d *desk) depth() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.load
}

func (d *desk) start() { go d.loop() }

// close stops accepting. What was accepted is finished; then done is closed.
func (d *desk) close() {
	d.mu.Lock()
	d.closed = true
	d.mu.Unlock()
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// fail is the end: the desk does not know what is true and says nothing more.
func (d *desk) fail(err error) {
	if d.why.CompareAndSwap(nil, &err) {
		d.log.Error("the desk stops: it cannot tell what is true", "error", err)
		close(d.failed)
	}
	d.mu.Lock()
	d.closed = true
	d.mu.Unlock()
}

func (d *desk) failure() error {
	if err := d.why.Load(); err != nil {
		return *err
	}
	return nil
}

func (d *desk) loop() {
	defer close(d.done)
	b := &batch{desk: d}
	for {
		<-d.wake
		for d.take(b) {
			d.serve(b)
		}
		d.mu.Lock()
		ended := d.closed && len(d.waiting) == 0
		d.mu.Unlock()
		if ended {
			return
		}
	}
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
	d.load -= load
	return n > 0
}

// serve takes a batch along the path: gate, ledger, gate again, receipts.
func (d *desk) serve(b *batch) {
	stats := BatchStats{Tickets: len(b.tickets)}
	began := time.Now()
	b.decide()
	decided := time.Now()
	err := d.record(b)
	stats.Deciding, stats.Recording = decided.Sub(began), time.Since(decided)
	var barrier *BarrierError
	if errors.As(err, &barrier) {
		d.refused(b, barrier)
		return
	}
	b.conclude(err)
	stats.Asks, stats.Granted = len(b.asks), b.granted
	d.observe.Served(stats)
	b.answer()
}

// record writes the batch. When it cannot be told whether the commit
// happened, the ledger is read before anybody is answered; if even that
// fails, the desk gives up.
func (d *desk) record(b *batch) error {
	if err := d.failure(); err != nil {
		return err
	}
	if len(b.write.Steps) == 0 {
		return nil
	}
	b.write.ID, b.write.At = int64(d.ids.next()), b.at
	ctx, cancel := context.WithTimeout(context.Background(), recordTimeout)
	defer cancel()
	err := d.ledger.Record(ctx, &b.write)
	if !errors.Is(err, ErrUnknown) {
		return err
	}
	d.log.Warn("a commit has no answer; reading the ledger", "batch", b.write.ID, "error", err)
	recorded, readErr := d.ledger.Recorded(ctx, &b.write)
	if readErr != nil {
		err = fmt.Errorf("%w; and it cannot be read: %w", err, readErr)
		d.fail(err)
		return err
	}
	if recorded {
		return nil
	}
	return fmt.Errorf("the commit failed: %w", err)
}

// recordTimeout bounds one transaction and the reading after a lost answer.
const recordTimeout = 30 * time.Second

// refused handles a batch that the database itself refused: the gate was more
// generous than the ledger about one sale. That sale is rebuilt and its
// requests are turned away; all others of the batch are served again.
func (d *desk) refused(b *batch, barrier *BarrierError) {
	d.log.Error("the ledger was the last barrier", "sale", barrier.Sale, "barrier", barrier.Barrier, "detail", barrier.Detail)
	b.undo()
	if barrier.Barrier == BarrierEpoch {
		d.fail(barrier) // somebody else sells now
		b.fail(barrier)
		b.answer()
		return
	}
	if d.catalog.sale(barrier.Sale) != nil {
		if err := d.rebuild(context.Background(), barrier.Sale); err != nil {
			d.log.Error("the gate could not be rebuilt", "sale", barrier.Sale, "error", err)
		}
	}
	rest := b.split(barrier.Sale)
	b.fail(barrier)
	b.answer()
	if len(rest.tickets) > 0 {
		d.serve(rest)
	}
}

// rebuild makes the gate's picture of a sale anew from the ledger, under a new
// epoch. It must run where no batch is on its way.
func (d *desk) rebuild(ctx context.Context, sale string) error {
	s, err := d.ledger.Fence(ctx, sale)
	if err != nil {
		return err
	}
	err = d.ledger.Snapshot(ctx, sale, func(snap Snapshot) error { return d.gate.Load(ctx, snap) })
	if err != nil {
		return fmt.Errorf("rebuild the gate of sale %s: %w", sale, err)
	}
	d.catalog.put(s)
	return nil
}
