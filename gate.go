package rushgate

import (
	"context"
	"errors"
	"iter"
	"time"
)

// Gate decides claims, fast. It knows only what is free and who already has
// what; everything it knows can be rebuilt from the ledger.
//
// A gate must never be more generous than the ledger. The desk keeps the
// order that makes this so: what takes units or strengthens a rule goes to the
// gate first, what gives units back goes to the ledger first.
//
// All methods may be called from several goroutines. Slices that are passed in
// belong to the caller again when the method has returned; a gate copies what
// it keeps. An error from any method means that the gate cannot answer now
// (it is unreachable, say), never that a buyer was refused: refusals are
// decisions.
type Gate interface {
	// Load replaces everything the gate knows of a sale by a snapshot of the
	// ledger. Until it has returned, the gate answers for the old state or
	// refuses; afterwards it answers for the new one.
	Load(ctx context.Context, s Snapshot) error

	// Put replaces the rules of a sale: window, limit, hold, frozen, ended.
	// Stock and holdings stay. The limit may not change between "none" and
	// "some": that needs a Load. A shared gate answers ErrStale when it has
	// another epoch than the sale that is put, another version than p.Was (0:
	// any lower one), or other rules of the same version.
	Put(ctx context.Context, p *Put) error

	// Peek answers the asks that can be refused on the spot, without waiting
	// for a batch: there is no such sale or item, the sale does not stand
	// open, or nothing of the item is free; and neither the user nor the key
	// is known here. It returns Granted when the ask has to go through Claim,
	// which alone answers LimitReached and Replayed. It must be cheap, must
	// not block on the network, and may be wrong only in one way: it may
	// return Granted for an ask that Claim will refuse.
	Peek(now time.Time, a *Ask) Code

	// Claim decides asks in their order, in one step, and writes one decision
	// for each into out, which has the length of asks. Asks of one batch may
	// belong to different sales. A key that is known comes first, then an
	// unknown item, then Decide. An ask whose own id is granted already (an
	// attempt whose answer got lost) is Granted again, in the same slot, and
	// takes nothing. A gate with a clock of its own uses that instead of now.
	// If it returns an error, no ask of the batch is granted; ids and
	// quantities out of bounds are one.
	Claim(ctx context.Context, now time.Time, asks []Ask, out []Decision) error

	// Settle says that the grants of these claims are recorded: until then
	// their units count as unsettled.
	Settle(ctx context.Context, claims []Claim) error

	// Return gives back units and slots of recorded claims that ended. A
	// claim that the gate does not know, or gave back already, changes
	// nothing. Their keys stay known: the same key tells the same claim.
	Return(ctx context.Context, claims []Claim) error

	// Forget takes back grants that were not recorded: units, slots and keys,
	// as if they had never been. A shared gate does so only with claims that
	// are still in its journal: of others, somebody else knows better.
	Forget(ctx context.Context, claims []Claim) error

	// Restock adds units of an item to what is free. A negative number takes
	// free units away; when fewer are free, nothing changes and enough is
	// false. A shared gate answers ErrStale when it has another epoch, and
	// changes nothing.
	Restock(ctx context.Context, r *Restock) (enough bool, err error)

	// Count returns what is free and what is unsettled, for each item of the
	// sale in no particular order.
	Count(ctx context.Context, sale string) ([]Count, error)

	// Close ends the gate. It is not used afterwards.
	Close() error
}

// Decision is a gate's answer to one Ask.
type Decision struct {
	// Code is Granted, Replayed, SoldOut, LimitReached, NotOpen, Closed,
	// Frozen, or NotFound when the gate has no such sale or item.
	Code  Code
	Slot  int32 // Granted: the lowest free slot of the user, or NoSlot
	Prior ID    // Replayed: the claim that the key made
	Has   []ID  // LimitReached: the user's claims, ascending

	// What a shared gate tells beside, since other nodes and its own clock
	// have a say in it; zero from a gate that belongs to one node.
	Epoch   int64     // the epoch under which it was decided; Forgot: that of the picture which was lost, if it is known
	Version int64     // of the rules by which it was decided
	At      time.Time // the moment of the decision, by the gate's clock, in whole milliseconds
	Early   bool      // Granted: the sale's level is below Recorded, and is reached: the buyer may hear now
}

// Shared is a gate that several nodes use at the same time, in memory that none
// of them owns. What it knows may be lost without any of them noticing at once,
// so it knows its epoch and counts its changes; and because a node may die
// between gate and ledger, it keeps a journal of what it granted until somebody
// settles it.
//
// Beside the codes of Gate, Claim answers for single asks Unavailable (it
// could not be asked, or its answer got lost: the same ask, again, tells) and
// Forgot. Load replaces a picture only by one of a higher epoch, and answers
// ErrStale otherwise; claims that come while it works are Unavailable.
type Shared interface {
	Gate

	// Mark tells which picture of a sale the gate has: zero for none.
	Mark(ctx context.Context, sale string) (Mark, error)

	// Orphans returns claims of a sale, granted more than age ago by the
	// gate's clock and neither settled nor taken back since, at most limit of
	// them. They are whole: any node can record them. age 0 returns all. The
	// epoch is that under which they were granted. A gate that has lost what it
	// knew answers Forgot, with the epoch.
	Orphans(ctx context.Context, sale string, age time.Duration, limit int) (claims []Claim, epoch int64, err error)

	// Mend brings to its end what a node left half done within the gate when it
	// died, units between two shards say, and returns how many units there
	// were. It may be called at any time, by any number of nodes.
	Mend(ctx context.Context, sale string) (units int64, err error)

	// Listen has f called, from one goroutine, whenever the rules, the stock
	// or the picture of a sale may have changed at the hands of another node.
	// Call it before the gate is used. f must not call the gate.
	Listen(f func(sale string))
}

// ErrStale is a shared gate's answer to a change that was made from an older
// picture than the gate has.
var ErrStale = errors.New("the gate has a newer picture of the sale")

// Mark names a state of a sale.
type Mark struct {
	Epoch   int64
	Version int64 // of the rules; 0 while parts of a gate have different ones
	Seq     int64 // grows with every change: of the gate's picture, or of the ledger's events
}

// Count is a gate's count of one item.
type Count struct {
	Item      string
	Free      int64
	Unsettled int64 // granted, and neither settled nor taken back yet
}

// Snapshot is what a gate must know of a sale, as the ledger has it at one moment.
type Snapshot struct {
	Sale  *Sale
	Stock []Stock

	// Claims yields every active claim, and every ended one that has a key.
	// Only ID, Item, User, Quantity, Slot, State and Key are set. It stops at
	// the first error, which Load returns.
	Claims iter.Seq2[Claim, error]

	Seq int64 // the number of the latest event in the snapshot
}
