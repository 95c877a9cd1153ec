package rushgate

import (
	"context"
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

	// Put replaces the rules of a sale: window, limit, frozen, ended, epoch.
	// Stock and holdings stay. The limit may not change between "none" and
	// "some": that needs a Load.
	Put(ctx context.Context, s *Sale) error

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
	// as if they had never been.
	Forget(ctx context.Context, claims []Claim) error

	// Restock adds units of an item to what is free. A negative number takes
	// free units away; when fewer are free, nothing changes and enough is false.
	Restock(ctx context.Context, sale, item string, add int64) (enough bool, err error)

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
}
