package rushgate

import (
	"context"
	"errors"
	"fmt"
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

// ClaimRequest is what a buyer asks for.
type ClaimRequest struct {
	Sale     string
	Item     string // may be empty when the sale has one item
	User     string
	Quantity int64 // 0 means 1

	// Key is the idempotency key, or empty: a request with the same key gets
	// the claim that the first one made, also after a restart.
	Key string

	// KeyScope says whose key it is. Keys of different scopes never meet. It
	// is the user where users choose their keys, and empty where one trusted
	// caller chooses them for all.
	KeyScope string
}

// Receipt is a granted claim.
type Receipt struct {
	Claim    Claim
	Replayed bool // the same key again: nothing new was granted
}

// Claim is the whole story: who asks for what, what can be refused on the
// spot, and then the desk, which takes it through gate and ledger. When Claim
// returns a receipt, the claim is committed in the ledger.
func (s *Service) Claim(ctx context.Context, r ClaimRequest) (Receipt, error) {
	ask, sale, err := s.ask(ctx, &r)
	if err != nil {
		return Receipt{}, err
	}
	code := s.gate.Peek(s.now(), &ask)
	if code == Frozen && !sale.Frozen {
		code = Granted // a gate that stands still has been frozen by nobody, perhaps: the desk finds out
	}
	if code != Granted {
		s.observe.Decided(code, 1)
		return Receipt{}, refusal(code, sale)
	}
	return s.desk.claim(ctx, ask)
}

// ask finds the sale and checks the request against it.
func (s *Service) ask(ctx context.Context, r *ClaimRequest) (Ask, *Sale, error) {
	sale := s.sale(ctx, r.Sale)
	if sale == nil {
		return Ask{}, nil, unknownSale(r.Sale)
	}
	item, err := sale.named(r.Item)
	switch {
	case err != nil:
		return Ask{}, nil, err
	case !validUser(r.User):
		return Ask{}, nil, invalid("user", "must be 1 to %d bytes of printable UTF-8, without space around it", MaxUser)
	case r.Quantity < 0 || r.Quantity > MaxQuantity:
		return Ask{}, nil, invalid("quantity", "must be 1 to %d", MaxQuantity)
	case !validKey(r.Key):
		return Ask{}, nil, invalid("idempotency_key", "must be at most %d visible ASCII characters", MaxKey)
	}
	ask := Ask{Sale: sale.ID, Item: item.ID, User: r.User, Quantity: max(r.Quantity, 1), Key: r.Key}
	if r.Key != "" && r.KeyScope != "" {
		ask.Key = r.KeyScope + " " + r.Key // a key has no space: the last one is the seam
	}
	return ask, sale, nil
}

// Result is the answer to one request of a batch.
type Result struct {
	Receipt
	Err error
}

// ClaimBatch is Claim for up to MaxBatch requests of one trusted caller. They
// are decided in their order, and each has its own result.
func (s *Service) ClaimBatch(ctx context.Context, rs []ClaimRequest) ([]Result, error) {
	if len(rs) == 0 || len(rs) > MaxBatch {
		return nil, invalid("claims", "must have 1 to %d claims", MaxBatch)
	}
	results := make([]Result, len(rs))
	asks := make([]Ask, 0, len(rs))
	at := make([]int, 0, len(rs)) // asks[i] answers rs[at[i]]
	for i := range rs {
		ask, _, err := s.ask(ctx, &rs[i])
		if err != nil {
			results[i].Err = err
			continue
		}
		asks = append(asks, ask)
		at = append(at, i)
	}
	if len(asks) == 0 {
		return results, nil
	}
	answers, err := s.desk.claimAll(ctx, asks)
	if err != nil {
		return nil, err
	}
	for i, a := range answers {
		results[at[i]] = a
	}
	return results, nil
}

// Get returns a claim. One whose time is over has expired, whether the sweeper
// has come by or not.
func (s *Service) Get(ctx context.Context, id ID) (Claim, error) {
	c, err := s.claimOf(ctx, id)
	if err == nil && c.State == Held && !c.ExpiresAt.After(s.now()) {
		return s.unmoved(ctx, c)
	}
	return c, s.asError(err)
}

// Confirm takes a held claim to confirmed. Doing it again changes nothing. A
// claim that has ended, or whose time is over, answers WrongState.
func (s *Service) Confirm(ctx context.Context, id ID) (Claim, error) {
	return s.move(ctx, id, Confirmed)
}

// Release gives a held claim back: its unit and its user's slot are free
// before Release returns. Doing it again changes nothing.
func (s *Service) Release(ctx context.Context, id ID) (Claim, error) {
	return s.move(ctx, id, Released)
}

// move brings a claim to a final state, and tells the truth when it was in
// another one already.
func (s *Service) move(ctx context.Context, id ID, to State) (Claim, error) {
	c, err := s.claimOf(ctx, id)
	if err != nil {
		return Claim{}, s.asError(err)
	}
	if c.State == Held {
		moved, err := s.desk.move(ctx, c.Sale, to, id)
		if err != nil {
			return Claim{}, err
		}
		if len(moved) > 0 {
			return *moved[0], nil
		}
		if c, err = s.unmoved(ctx, c); err != nil {
			return Claim{}, err
		}
	}
	if c.State == Held { // the clock went back between the two
		return Claim{}, unavailable(nil, "the claim could not be moved now; try again")
	}
	if c.State != to {
		return Claim{}, &Error{Code: WrongState, Message: "the claim is " + string(c.State), Claim: &c}
	}
	return c, nil
}

// unmoved looks why a claim did not move. If it is still held, its time is
// over and the sweeper has not come by yet: then it ends here.
func (s *Service) unmoved(ctx context.Context, c Claim) (Claim, error) {
	if _, err := s.desk.move(ctx, c.Sale, ExpiredState, c.ID); err != nil {
		return Claim{}, err
	}
	c, err := s.ledger.Claim(ctx, c.ID)
	return c, s.asError(err)
}

// Claims lists claims of a sale.
func (s *Service) Claims(ctx context.Context, q ClaimQuery) ([]Claim, error) {
	if s.sale(ctx, q.Sale) == nil {
		return nil, unknownSale(q.Sale)
	}
	if q.State != "" && !q.State.Known() {
		return nil, invalid("state", "must be held, confirmed, released, expired or revoked")
	}
	if q.Limit < 1 || q.Limit > MaxPage {
		return nil, invalid("limit", "must be 1 to %d", MaxPage)
	}
	claims, err := s.ledger.Claims(ctx, q)
	return claims, s.asError(err)
}

// Events returns up to limit events of a sale after a number, in order.
func (s *Service) Events(ctx context.Context, sale string, after int64, limit int) ([]Event, error) {
	if s.sale(ctx, sale) == nil {
		return nil, unknownSale(sale)
	}
	events, err := s.ledger.Events(ctx, sale, after, limit)
	return events, s.asError(err)
}

// Changed returns a channel that is closed at the next event of a sale. Take
// it first and read the events then, and none is missed. It is nil for a sale
// that is not there.
func (s *Service) Changed(sale string) <-chan struct{} {
	if s.catalog.sale(sale) == nil {
		return nil
	}
	return s.watch.changed(sale)
}

// asError makes an *Error of whatever a ledger returned. A ledger that is lost
// ends the service: nothing that it would sell could be written down.
func (s *Service) asError(err error) error {
	var e *Error
	if err == nil || errors.As(err, &e) {
		return err
	}
	s.desk.endIfLost(err)
	return unavailable(err, "the ledger cannot be read now")
}

// refusal words a gate's refusal.
func refusal(code Code, sale *Sale) error {
	switch code {
	case SoldOut:
		return errSoldOut
	case NotOpen:
		return &Error{Code: NotOpen, Message: "the sale opens at " + sale.OpensAt.UTC().Format(time.RFC3339), OpensAt: sale.OpensAt}
	case Closed:
		return &Error{Code: Closed, Message: "the sale is closed"}
	case Frozen:
		return &Error{Code: Frozen, Message: "the sale is frozen by an operator", RetryAfter: time.Second}
	}
	return &Error{Code: Unavailable, Message: "the gate does not know this item yet", RetryAfter: time.Second}
}

func limitReached(sale *Sale, has []ID) *Error {
	e := &Error{Code: LimitReached, Claims: has}
	if sale != nil {
		e.Message = fmt.Sprintf("one user may have %d at a time; claims lists what this one has", sale.PerUser)
	}
	return e
}

// errSoldOut is shared: it is the answer to nearly everybody.
var errSoldOut = &Error{Code: SoldOut, Message: "not enough units are free"}

func unknownSale(id string) *Error {
	return &Error{Code: NotFound, Message: "there is no sale " + clip(id)}
}

// clip keeps what a stranger sent from filling logs and answers.
func clip(s string) string {
	if len(s) > MaxIDBytes {
		return s[:MaxIDBytes] + "…"
	}
	return s
}
