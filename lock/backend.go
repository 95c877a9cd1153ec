package lock

import (
	"context"
	"time"
)

// Backend keeps claims in one place that all processes see: a Redis, a
// PostgreSQL, several Redis (Redlock), or the memory of this process (Memory).
//
// A key has room for permits, and claims take them. A claim is known by its key
// and its owner; it waits in the key's line or is held, and it has a lease:
// when that ends without a sign of life from one of its tokens, the claim is
// gone, whether it waited or was held. Time is that of the backend alone, read
// within the atomic step.
//
// The rules, which every method applies to one key in one atomic step:
//
//  1. Claims whose lease has ended are gone, before anything else happens.
//  2. A claim fits when the permits that are taken and its Need together are no
//     more than its own Limit.
//  3. Whenever a claim goes, those at the head of the line are granted in their
//     order, until one does not fit; nobody overtakes. Who is granted so is told
//     by Listen. A claim granted out of the line keeps the lease that it had.
//  4. With every grant the key's fence grows; a claim keeps its own.
//  5. A call concerns only claims of its own key and owner that carry its token.
//     So whoever was late can never end or prolong what another one has.
//
// A call may be carried out although its answer is lost, and may be carried out
// late. Therefore each can be asked again with the same effect: only Acquire
// makes a claim, and one that nobody knows of ends with its lease.
//
// The methods may be called by several goroutines. They do not keep the slices.
// A call ends soon after its context does.
type Backend interface {
	// Acquire makes the claim, or gives a sign of life for it if there is one
	// with this token, which prolongs its lease to Lease from now. An owner that
	// holds the key already, with as many permits or more, holds it once more by
	// another token, with the same fence. With fewer: Denied.
	//
	// The answer is Granted; Waiting, if it has a place in the line; Taken, if it
	// does not want to wait; Full, if there are Line others in the line, or the
	// key is held by MaxHolders, or by its owner MaxHolds times. After Taken,
	// Full and Denied the token is not used again.
	Acquire(ctx context.Context, c Claim) Answer

	// Renew gives signs of life, each as Acquire does, but makes nothing: where
	// there is no claim with this token, the answer is Gone. It answers in the
	// order of the claims, which may have different keys and share no atomic step.
	Renew(ctx context.Context, claims []Claim) []Answer

	// Release takes the claims' tokens away. A claim without any is gone. The
	// answer is Granted where the claim was held until now, Waiting where it was
	// in the line, and Gone where there was none.
	Release(ctx context.Context, claims []Claim) []Answer

	// Listen tells what is granted out of the line to tokens of a node, until
	// the context ends, or with an error when it can hear no longer. It calls
	// ready when it has begun to hear: what was granted before is not told.
	// News may get lost; whoever waits asks again now and then. The calls of
	// granted and ready follow one another and must not block.
	Listen(ctx context.Context, node string, ready func(), granted func(Grant)) error
}

// Claim is what somebody wants of a key.
type Claim struct {
	Key   string // 1 to MaxKey bytes
	Owner string // who; 1 to MaxOwner bytes
	// Token is this call's own name: "NODE.NUMBER". The node is that of Listen,
	// 1 to 32 letters and digits; the number has up to 13 letters and digits.
	Token string

	Need  int64 // permits, 1 to MaxPermits
	Limit int64 // the permits that there are in the asker's eyes, Need to MaxPermits

	Lease time.Duration // MinLease to MaxLease
	Line  int           // how many may wait before it in the line; 0: it does not want to wait

	// Fence is what Renew raises the fence of the key to, at least, and that of
	// the claim if it is held: the one that its holder knows. See Redlock.
	Fence uint64
}

// Answer is what has become of a claim.
type Answer struct {
	State State
	Fence uint64 // of a claim that is Granted, but not by Release; of the key's latest grant for one that is Waiting

	// Left is, for a claim that is Waiting or Taken, when it is worth asking
	// again if nothing is heard: the first lease ends then, or later. It is 0 if
	// the backend cannot say.
	Left  time.Duration
	Ahead int // how many stand before a claim that is Waiting

	// Err is set when there is no answer. If it wraps ErrUnavailable, the
	// outcome is unknown, and one may ask again; otherwise nothing was done,
	// and asking again does not help.
	Err error
}

// Grant is news of a claim that got out of the line.
type Grant struct {
	Token string
	Fence uint64
}

// State is the state of a claim in an answer.
type State int

// What may have become of a claim.
const (
	Granted State = iota + 1 // it is held
	Waiting                  // it has a place in the line
	Taken                    // others have the key, and it did not want to wait
	Full                     // there are too many already
	Denied                   // its owner holds the key already, with fewer permits
	Gone                     // there is no such claim
)

// String returns the name of a state.
func (s State) String() string {
	names := [...]string{"none", "granted", "waiting", "taken", "full", "denied", "gone"}
	if s < 0 || int(s) >= len(names) {
		return "unknown"
	}
	return names[s]
}

// Bounds of what a backend is asked for.
const (
	MaxKey     = 512     // bytes
	MaxOwner   = 200     // bytes
	MaxPermits = 1 << 20 // of a key; a lock for one takes all
	MaxLine    = 10_000  // who wait for one key
	MaxHolders = 10_000  // owners who have permits of one key
	MaxHolds   = 1_000   // how many times an owner may hold one key

	MinLease = 50 * time.Millisecond
	MaxLease = time.Hour
)
