package rushgate

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// Config is what a Service is made of. Gate and Ledger are required; every
// other field has the default that its comment names. Open refuses values out
// of bounds instead of mending them.
type Config struct {
	Gate   Gate
	Ledger Ledger

	Now     func() time.Time // the clock; default time.Now
	Log     *slog.Logger     // default: discard
	Observe Observer         // what happens, for metrics; default: nobody watches

	// Random returns 64 random bits; it makes claim ids unguessable.
	// Default: a ChaCha8 stream of math/rand/v2.
	Random func() uint64

	// QueueLimit bounds the claims that wait at the desk; when it is reached,
	// the answer is overloaded, at once. Default 16384, at least BatchLimit.
	QueueLimit int

	// BatchLimit bounds the claims of one transaction. Default 2048, at
	// least MaxBatch.
	BatchLimit int

	// SweepEvery is the pause between looks for expired claims. Default 250 ms.
	SweepEvery time.Duration

	// AuditEvery is the pause between passes of the auditor over all sales.
	// Default 1 minute.
	AuditEvery time.Duration

	// What follows matters where the gate is Shared, and several nodes sell.

	// Node is this node's number among those that sell from the ledger, 0 to
	// MaxNode: no two of them may have the same at the same time.
	Node int

	// Chores says whether this node does, at this moment, what one node is
	// enough for: sweeping, auditing, adopting. Default: it does. That two of
	// them do it at once costs work and does no harm.
	Chores func() bool

	// FollowEvery is the pause between looks at what other nodes changed, for
	// whatever the gate did not tell. Default 500 ms.
	FollowEvery time.Duration

	// AdoptAfter is how long a granted claim may wait to be recorded by the
	// node that made it; then others do. Default 5 s.
	AdoptAfter time.Duration
}

// Bounds of one call.
const (
	MaxBatch = 1000 // claims that ClaimBatch takes
	MaxPage  = 1000 // claims that Claims returns
)

// Service sells: it brings claims through gate and ledger, operators' changes
// to both, and keeps a sweeper and an auditor running beside them. All methods
// may be called from several goroutines. Their errors are *Error.
type Service struct {
	gate    Gate
	ledger  Ledger
	now     func() time.Time
	log     *slog.Logger
	observe Observer

	catalog *catalog
	desk    *desk
	watch   *watch
	node    *node // nil when the gate is this service's own

	operator chan struct{} // holds one: a change at a time
	cancel   context.CancelFunc
	running  sync.WaitGroup // sweeper and auditor
}

// Open takes over the sales of the ledger: it fences every other writer off,
// builds the gate, and starts desk, sweeper and auditor. Where the gate is
// Shared, it joins those that sell already. The caller keeps gate and ledger and
// closes them after Close.
func Open(ctx context.Context, cfg Config) (*Service, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	last, err := cfg.Ledger.LastID(ctx)
	if err != nil {
		return nil, err
	}
	s := &Service{gate: cfg.Gate, ledger: cfg.Ledger, now: cfg.Now, log: cfg.Log, observe: cfg.Observe,
		catalog: &catalog{}, watch: newWatch(), operator: make(chan struct{}, 1)}
	gate, shared := cfg.Gate.(Shared)
	ids, err := newIDs(&cfg, last, shared)
	if err != nil {
		return nil, err
	}
	s.desk = newDesk(cfg, ids, s.catalog, s.watch)
	if shared {
		s.node = newNode(cfg, gate, s.desk)
		s.desk.node = s.node
		err = s.node.open(ctx)
	} else {
		err = s.takeOver(ctx)
	}
	if err != nil {
		return nil, err
	}
	s.start(cfg)
	return s, nil
}

// takeOver fences every other writer off and builds the gate.
func (s *Service) takeOver(ctx context.Context) error {
	sales, err := s.ledger.Sales(ctx)
	if err != nil {
		return err
	}
	for i := range sales {
		if err := s.desk.rebuild(ctx, sales[i].ID); err != nil {
			return err
		}
	}
	return nil
}

// start sets the desk to work, and what runs beside it.
func (s *Service) start(cfg Config) {
	background, cancel := context.WithCancel(context.Background())
	s.cancel = cancel
	s.desk.start()
	s.running.Go(func() { s.sweep(background, cfg) })
	s.running.Go(func() { s.auditAll(background, cfg) })
	if s.node != nil {
		s.running.Go(func() { s.node.follow(background) })
		s.running.Go(func() { s.node.mendAll(background) })
		s.running.Go(func() { s.node.adoptAll(background) })
		s.running.Go(func() { s.node.keepPromises(background) })
	}
}

// Ready says why this service should not be sent anything at the moment; nil when
// it serves.
func (s *Service) Ready() error {
	if err := s.Err(); err != nil || s.node == nil {
		return err
	}
	return s.node.ready()
}

// Close stops accepting, finishes what was accepted, and ends sweeper and
// auditor. It may be called more than once. If ctx ends first, Close returns
// its error, and the rest is finished in the background.
func (s *Service) Close(ctx context.Context) error {
	s.cancel()
	s.desk.close()
	ended := make(chan struct{})
	go func() {
		<-s.desk.done
		s.running.Wait()
		if s.node != nil {
			s.node.keepLast()
		}
		close(ended)
	}()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Fail ends the service at once: whoever waits at the desk hears that it is
// unavailable, and nothing more is asked for or recorded. It is for a node that
// may not sell any more; Close is the way of good order.
func (s *Service) Fail(cause error) { s.desk.fail(cause) }

// Failed is closed when the service can no longer tell what is true, because
// the ledger could not say whether a commit happened or was taken over by
// somebody else. It then refuses everything; Err says why.
func (s *Service) Failed() <-chan struct{} { return s.desk.failed }

// Err returns why the service failed, or nil while it has not.
func (s *Service) Err() error { return s.desk.failure() }

// Waiting returns how many claims wait at the desk, and how many errands.
func (s *Service) Waiting() (claims, errands int) { return s.desk.depth() }
