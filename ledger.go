package rushgate

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Ledger is the truth: every claim, every stock row, every event, in a SQL
// database that refuses by itself what must not be.
//
// Reads see everything that was recorded before they began. All methods may be
// called from several goroutines, and, where the database is a server, from
// several nodes.
type Ledger interface {
	// Record writes a batch in one transaction: all of it or nothing. When it
	// returns nil the batch is durable: it survives kill -9 and power loss.
	//
	// A *BarrierError says that the database refused the batch, and why; any
	// other error that is not ErrUnknown says that nothing was written. With
	// ErrUnknown it cannot be told whether the commit happened: ask Recorded.
	Record(ctx context.Context, b *Batch) error

	// Recorded finds out whether a batch was committed. It must read what a
	// restart would read.
	Recorded(ctx context.Context, b *Batch) (bool, error)

	// Fence takes the next epoch of a sale and returns the sale with it. From
	// then on, batches that carry an older epoch are refused. When was is not
	// 0 and the sale has another epoch, somebody else was faster: the sale is
	// returned as it is, and taken is false.
	Fence(ctx context.Context, sale string, was int64) (s *Sale, taken bool, err error)

	// Snapshot reads what a gate must know of a sale, consistent at one
	// moment, and calls use with it. The snapshot ends when use returns.
	Snapshot(ctx context.Context, sale string, use func(Snapshot) error) error

	// Sales returns every sale, by creation.
	Sales(ctx context.Context) ([]Sale, error)

	// Sale returns one sale, or an *Error with NotFound.
	Sale(ctx context.Context, id string) (*Sale, error)

	// Marks returns the epoch, the version and the latest event's number of
	// every sale: a cheap look at what has changed.
	Marks(ctx context.Context) (map[string]Mark, error)

	// Stock returns the stock rows of a sale, in the order of its items.
	Stock(ctx context.Context, sale string) ([]Stock, error)

	// Claim returns one claim, or an *Error with NotFound.
	Claim(ctx context.Context, id ID) (Claim, error)

	// Claims returns claims of a sale that match a query, by id, at most
	// q.Limit of them.
	Claims(ctx context.Context, q ClaimQuery) ([]Claim, error)

	// Find returns the claims of a sale that have one of the ids or one of the
	// keys, in no particular order: who stands where a claim was refused.
	Find(ctx context.Context, sale string, ids []ID, keys []string) ([]Claim, error)

	// Expired returns up to limit held claims of all sales whose time is over
	// at now, oldest first.
	Expired(ctx context.Context, now time.Time, limit int) ([]Claim, error)

	// Events returns up to limit events of a sale with a number above after,
	// in order.
	Events(ctx context.Context, sale string, after int64, limit int) ([]Event, error)

	// Tally counts a sale from its rows, consistent at one moment, for the auditor.
	Tally(ctx context.Context, sale string) (*Tally, error)

	// LastID returns the highest id of a claim or a batch ever recorded, 0 for
	// none: where the ids of the next run go on.
	LastID(ctx context.Context) (ID, error)

	// Close ends the ledger. It is not used afterwards.
	Close() error
}

// Batch is what one transaction writes.
type Batch struct {
	// ID is unique among batches. It is written with the events, so that a
	// commit whose answer got lost can be found again.
	ID    int64
	At    time.Time
	Steps []Step
}

// Step is one change of a batch: *Grant, *Move, *Revoke, *Put or *Restock.
// Steps are carried out in their order, and their events numbered in it.
type Step interface {
	// On returns the id of the sale that the step changes.
	On() string
}

// Grant records new claims of one sale. The ledger refuses the batch when the
// epoch is old, the stock does not suffice, a slot is taken, or a user would
// have more than the limit.
type Grant struct {
	Sale    string
	Epoch   int64
	PerUser int64 // the limit under which they were granted; 0: none
	Claims  []Claim
}

// Move takes held claims of one sale to their final state. Claims that are not
// held any more stay as they are. A claim whose ExpiresAt is not after the
// batch's At can only be moved to ExpiredState; others cannot be moved there.
type Move struct {
	Sale string
	To   State
	IDs  []ID

	// Moved is written by Record: the claims that took the step now, as they
	// are after it, in no particular order. With ErrUnknown it is what has
	// happened if the batch turns out to be recorded.
	Moved []Claim
}

// Revoke writes down claims that were acknowledged below Recorded and that the
// ledger never had: they arrive in their final state, Revoked at the batch's At,
// and take neither units, nor a slot, nor their key. A claim whose id is
// recorded already stays as it is.
type Revoke struct {
	Sale   string
	Claims []Claim

	Revoked []Claim // written by Record: those that were not there, as they are now
}

// Put writes the row of a sale: a new one with its items and stock (Kind
// SaleCreated), or everything of an existing one but its items, stock, shards
// and epoch.
type Put struct {
	Sale *Sale
	Kind EventKind

	Was   int64 // the version that was changed; if the row has another, the ledger refuses. 0: any
	Epoch int64 // the epoch that was changed; if the row has another, the ledger refuses. 0: any
}

// Restock changes the total of an item. The ledger refuses to go below what is taken.
type Restock struct {
	Sale  string
	Item  string
	Add   int64
	Epoch int64 // as in Put
}

// On returns the sale's id.
func (g *Grant) On() string { return g.Sale }

// On returns the sale's id.
func (m *Move) On() string { return m.Sale }

// On returns the sale's id.
func (r *Revoke) On() string { return r.Sale }

// On returns the sale's id.
func (p *Put) On() string { return p.Sale.ID }

// On returns the sale's id.
func (r *Restock) On() string { return r.Sale }

// ErrUnknown marks an error of Record after which it cannot be told whether
// the batch was committed.
var ErrUnknown = errors.New("it is unknown whether the batch was committed")

// ErrLost marks an error after which the ledger will not recover by itself: its
// file is damaged, or gone. Whoever meets it stops selling.
var ErrLost = errors.New("the ledger is damaged or gone")

// Barrier names what in the database refused a batch.
type Barrier string

// The barriers, each enforced inside the transaction.
const (
	BarrierStock   Barrier = "stock"   // taken + n <= total
	BarrierSlot    Barrier = "slot"    // unique (sale, round, user, slot)
	BarrierLimit   Barrier = "limit"   // units of one user
	BarrierEpoch   Barrier = "epoch"   // fencing
	BarrierVersion Barrier = "version" // somebody else changed the rules meanwhile
	BarrierID      Barrier = "id"      // claim ids, batch ids and keys are unique
	BarrierExists  Barrier = "exists"  // the sale exists already, or does not
	BarrierLease   Barrier = "lease"   // the writer's lease is over (see Leases.Under)
)

// BarrierError is a batch that the database refused: nothing of it was written.
type BarrierError struct {
	Barrier Barrier
	Sale    string
	Detail  string
}

func (e *BarrierError) Error() string {
	return fmt.Sprintf("the ledger refused a batch of sale %s: %s: %s", e.Sale, e.Barrier, e.Detail)
}

// ClaimQuery selects claims of a sale. Empty fields select all.
type ClaimQuery struct {
	Sale  string
	User  string
	Item  string
	State State
	After ID // only ids above this one
	Limit int
}

// Tally is what an auditor needs to know, counted from the rows themselves.
type Tally struct {
	Sale  *Sale
	Items []ItemTally

	// OverLimit lists up to 10 users who have more units than the limit, with
	// how many; Users is how many users have active claims.
	OverLimit map[string]int64
	Users     int64

	BadSlots   int64 // active claims of a limited sale without a slot, ended ones with one
	Overdue    int64 // held claims whose time was over at the moment Tally was asked
	OldestDue  time.Time
	Claims     map[State]int64 // claims by state
	Events     map[EventKind]int64
	LastSeq    int64 // as the sale's row has it
	SeqGaps    int64 // numbers missing or twice between 1 and LastSeq
	BadHistory int64 // claims whose events do not tell exactly one arrival and, when ended, one end
}

// ItemTally compares a stock row with the claims.
type ItemTally struct {
	Stock
	CountedHeld      int64 // units of held claims
	CountedConfirmed int64 // units of confirmed claims
}
