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
	node    *node // nil when the gate is this desk's own

	queueLimit, batchLimit int

	mu      sync.Mutex
	waiting []*ticket
	claims  int // claims among what waits
	errands int // errands among what waits
	closed  bool

	// unsure are the sales of which the gate may know something wrong, because
	// they could not be rebuilt. Only the desk's goroutine touches it.
	unsure map[string]bool

	wake   chan struct{} // something waits, or the desk was closed
	done   chan struct{} // the desk has ended
	failed chan struct{} // the desk gave up
	why    atomic.Pointer[error]

	pool sync.Pool // of claim tickets with one ask
}

func newDesk(cfg Config, ids *ids, c *catalog, w *watch) *desk {
	return &desk{gate: cfg.Gate, ledger: cfg.Ledger, now: cfg.Now, ids: ids, log: cfg.Log,
		observe: cfg.Observe, catalog: c, watch: w,
		queueLimit: cfg.QueueLimit, batchLimit: cfg.BatchLimit, unsure: map[string]bool{},
		wake: make(chan struct{}, 1), done: make(chan struct{}), failed: make(chan struct{}),
		pool: sync.Pool{New: func() any { return newTicket(make([]Ask, 1), nil) }}}
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
	c, err := d.await(ctx, r.Claim.ID)
	if err != nil {
		d.endIfLost(err)
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

// endIfLost fails when err says that the ledger will not recover by itself.
func (d *desk) endIfLost(err error) {
	if errors.Is(err, ErrLost) {
		d.fail(err)
	}
}

func (d *desk) failure() error {
	if err := d.why.Load(); err != nil {
		return *err
	}
	return nil
}

func (d *desk) loop() {
	defer close(d.done)
	b, serve := &batch{desk: d}, func(b *batch) *batch { d.serve(b); return b }
	if d.node != nil {
		r := newRecorder(d)
		defer r.close()
		serve = r.serve
	}
	for {
		<-d.wake
		for d.take(b) {
			b = serve(b)
		}
		d.mu.Lock()
		ended := d.closed && len(d.waiting) == 0
		d.mu.Unlock()
		if ended {
			return
		}
	}
}

// serve takes a batch along the path: gate, ledger, gate again, receipts.
func (d *desk) serve(b *batch) {
	if d.ended(b) {
		return
	}
	if b = d.sure(b); len(b.tickets) == 0 {
		return
	}
	b.decide()
	d.finish(b)
}

// ended turns a batch away when the desk has failed: the gate must not be asked
// any more by somebody who may not sell.
func (d *desk) ended(b *batch) bool {
	err := d.failure()
	if err != nil {
		b.unrecorded(err)
		b.answer()
	}
	return err != nil
}

// finish is the path from the gate's decision on.
func (d *desk) finish(b *batch) {
	began := time.Now()
	err := d.record(b)
	b.stats.Recording = time.Since(began)
	var barrier *BarrierError
	if errors.As(err, &barrier) {
		if d.node == nil {
			d.refused(b, barrier)
			return
		}
		err = d.recordRest(b, barrier)
	}
	b.conclude(err)
	d.observe.Served(b.stats)
	b.answer()
	if err == nil && d.node != nil {
		b.settle()
	}
}

// recordRest records what remains of a batch when the parts that the ledger
// refuses are taken out of it.
func (d *desk) recordRest(b *batch, barrier *BarrierError) error {
	var err error = barrier
	for tries := 0; errors.As(err, &barrier) && tries < maxDisputes+len(b.write.Steps); tries++ {
		if barrier.Barrier == BarrierLease {
			d.fail(barrier)
			return err
		}
		if err := d.dispute(b, barrier); err != nil {
			return err
		}
		err = d.record(b)
	}
	return err
}

// sure tries once more to rebuild the sales that could not be rebuilt, and
// turns away what concerns those that still cannot. It returns the rest.
func (d *desk) sure(b *batch) *batch {
	for sale := range d.unsure {
		if err := d.rebuild(context.Background(), sale); err != nil {
			rest := b.split(sale)
			b.unrecorded(err)
			b.answer()
			b = rest
		}
	}
	return b
}

// record writes the batch. When it cannot be told whether the commit
// happened, the ledger is read before anybody is answered; if even that
// fails, the desk gives up, and its error is ErrUnknown.
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
	d.endIfLost(err)
	if !errors.Is(err, ErrUnknown) {
		return err
	}
	d.log.Warn("a commit has no answer; reading the ledger", "batch", b.write.ID, "error", err)
	again, cancel := context.WithTimeout(context.Background(), recordTimeout) // the first may be used up
	defer cancel()
	recorded, readErr := d.ledger.Recorded(again, &b.write)
	if readErr != nil {
		err = fmt.Errorf("%w; and it cannot be read: %w", err, readErr)
		if d.node == nil { // otherwise the journal knows what is open, and an adopter will see to it
			d.fail(err)
		}
		return err
	}
	if recorded {
		return nil
	}
	return fmt.Errorf("the commit failed: %v", err) // no longer unknown
}

// recordTimeout bounds one transaction and the reading after a lost answer.
const recordTimeout = 30 * time.Second

// refused handles a batch that the database itself refused: the gate was more
// generous than the ledger about one sale. That sale is rebuilt and its
// requests are turned away; all others of the batch are served again.
func (d *desk) refused(b *batch, barrier *BarrierError) {
	d.log.Error("the ledger was the last barrier", "sale", barrier.Sale, "barrier", barrier.Barrier, "detail", barrier.Detail)
	b.undo()
	if barrier.Barrier == BarrierEpoch || barrier.Barrier == BarrierLease {
		d.fail(barrier) // somebody else sells now
		b.unrecorded(barrier)
		b.answer()
		return
	}
	if d.catalog.sale(barrier.Sale) != nil {
		if err := d.rebuild(context.Background(), barrier.Sale); err != nil {
			d.log.Error("the gate could not be rebuilt", "sale", barrier.Sale, "error", err)
		}
	}
	rest := b.split(barrier.Sale)
	b.unrecorded(barrier)
	b.answer()
	d.serve(rest)
}

// doubt marks a sale of which the gate may know something wrong.
func (d *desk) doubt(sale *Sale) {
	if d.node != nil {
		d.node.doubt(sale.ID, sale.Epoch)
		return
	}
	d.unsure[sale.ID] = true
}

// rebuild makes the gate's picture of a sale anew from the ledger, under a new
// epoch. It must run where no batch is on its way. A sale that could not be
// rebuilt is not sold until it is: the desk tries again at its next batch.
func (d *desk) rebuild(ctx context.Context, sale string) error {
	d.unsure[sale] = true
	s, _, err := d.ledger.Fence(ctx, sale, 0)
	if err != nil {
		d.endIfLost(err)
		return fmt.Errorf("take the epoch of sale %s: %w", sale, err)
	}
	d.catalog.put(s)
	err = d.ledger.Snapshot(ctx, sale, func(snap Snapshot) error { return d.gate.Load(ctx, snap) })
	if err != nil {
		d.endIfLost(err)
		return fmt.Errorf("rebuild the gate of sale %s: %w", sale, err)
	}
	delete(d.unsure, sale)
	return nil
}
