package once

import (
	"context"
	"math"
	"time"
)

// Forever keeps a result until somebody forgets it.
const Forever time.Duration = math.MaxInt64

// Idle is for how long a store remembers an attempt that left no result, after
// it failed or after its lease ended: long enough to count attempts, and bounded.
const Idle = time.Hour

// Store keeps one record for each key: who runs its work, or what came of it.
//
// Each method decides in one atomic step, on the store's own clock: leases and
// times to keep come in as durations, never as moments. Each may be called again
// after an answer that got lost, with the same arguments, and then says the same:
// an attempt is known by its Owner, which nobody else ever has. An error means
// that the outcome is unknown. Keys, owners and fingerprints have been checked by
// the caller and lie within the bounds of this package. Slices that come in belong
// to the caller, those that go out to the receiver.
type Store interface {
	// Begin takes the key for an attempt when it is free: when there is no
	// record, its result is no longer kept, the last attempt failed, or its lease
	// has ended. Then the state is Mine. The Token is greater than that of every
	// earlier attempt of the key, the Number is one more. Whoever is refused with
	// Busy and Waits is told of the end by Watch.
	Begin(ctx context.Context, c Claim) (State, error)

	// Renew makes the lease of an attempt begin anew. It is false when the key is
	// no longer the owner's; an attempt whose lease has ended, but whose key
	// nobody took, still has it.
	Renew(ctx context.Context, key, owner string, lease time.Duration) (bool, error)

	// End records what came of an attempt: Done, Failed, or Free, to be tried
	// again. It is false, and nothing is recorded, when the key is no longer the
	// owner's. Ending once more in the same way is true.
	End(ctx context.Context, key, owner string, o Outcome) (bool, error)

	// Look returns the state and changes nothing. A key that nobody holds is Free.
	Look(ctx context.Context, key string) (State, error)

	// Forget removes the record, whatever its state; an attempt that is under
	// way has lost its key. It is true when there was a record.
	Forget(ctx context.Context, key string) (bool, error)

	// Watch returns a channel that gets a value or is closed when an attempt of the
	// key may have ended after Watch returned, and a function that ends watching;
	// after an error there is nothing to end. A store that cannot tell returns a nil channel: then its state is asked again
	// and again, at growing distances.
	Watch(ctx context.Context, key string) (ended <-chan struct{}, stop func(), err error)
}

// Claim asks for a key.
type Claim struct {
	Key         string
	Owner       string        // of this attempt alone: 32 hexadecimal digits
	Fingerprint string        // of what is asked for: 32 hexadecimal digits, or empty
	Lease       time.Duration // after which others may take the key
	Waits       bool          // the caller watches the key when somebody else has it
}

// Phase is what a record says.
type Phase int

// The phases. Mine and Reused are answers of Begin alone.
const (
	Free   Phase = iota // nobody runs the work, and there is no result
	Busy                // somebody runs the work
	Mine                // the attempt has the key
	Done                // there is a result
	Failed              // there is a result: an error for ever
	Reused              // the key stands for another request: the fingerprints differ
)

// String names a phase.
func (p Phase) String() string {
	return [...]string{"free", "busy", "mine", "done", "failed", "reused"}[p]
}

// State is what a store knows of a key.
type State struct {
	Phase  Phase
	Token  int64         // of the latest attempt; 0 when none is remembered
	Number int           // of that attempt, from 1
	Left   time.Duration // Busy: until the lease ends
	Value  []byte        // Done: the result; Failed: the error's text
}

// Outcome is what came of an attempt.
type Outcome struct {
	Phase Phase // Done, Failed or Free
	Value []byte
	Keep  time.Duration // of Done and Failed; Forever: until it is forgotten
}

// MarkStore keeps sets of members. Sets, members and tags have been checked by
// the caller; the members of one call are distinct and in ascending order, so
// that two calls never wait for each other in a circle. Results go to the slice
// that comes in, in the order of the members.
type MarkStore interface {
	// Mark puts members into a set. first says of each whether this call put it
	// there. With a tag, a member that was put there under the same tag counts as
	// put there by this call: so a call whose answer got lost can be made again.
	// A store that keeps no tags answers ErrUnsupported when there is one.
	Mark(ctx context.Context, set, tag string, members []string, first []bool) error

	// Unmark takes members out of a set. was says of each whether it was in.
	Unmark(ctx context.Context, set string, members []string, was []bool) error

	// Marked says of each member whether it is in the set.
	Marked(ctx context.Context, set string, members []string, is []bool) error

	// Marks counts the members of a set.
	Marks(ctx context.Context, set string) (int64, error)

	// Clear removes a set.
	Clear(ctx context.Context, set string) error
}

// ToggleStore keeps, for each member of a set, the latest intent. Names have been
// checked by the caller.
type ToggleStore interface {
	// Apply carries out an intent if its Seq is greater than that of the
	// member's latest one, in one atomic step, and returns how it stands then. It
	// is not an error if the intent comes too late.
	Apply(ctx context.Context, set string, i Intent) (Standing, error)

	// Standing returns how a member stands: off, with Seq 0, when nobody ever
	// said anything.
	Standing(ctx context.Context, set, member string) (Standing, error)

	// On counts the members that are on.
	On(ctx context.Context, set string) (int64, error)
}
