package id

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Errors of a Node and of stores, for errors.Is.
var (
	// ErrNoLease: there is no window, at the time of now, in which an id would
	// surely be unique. Next says so until the store has given one.
	ErrNoLease = errors.New("no lease")

	// ErrNoNumber: all numbers of nodes are taken.
	ErrNoNumber = errors.New("all numbers of nodes are taken")

	// ErrLost: the number belongs to somebody else, or the store has forgotten
	// who has it.
	ErrLost = errors.New("the number is not leased to this node any more")

	// ErrClock: the clocks of node and store differ by more than is allowed.
	ErrClock = errors.New("the clocks of node and store differ too much")

	// ErrLayout: the numbers are shared by nodes with another layout.
	ErrLayout = errors.New("others use these numbers with another layout")

	// ErrClosed: the node has been closed.
	ErrClosed = errors.New("closed")
)

// Store gives the numbers of nodes out on lease. There are stores in memory
// (Memory), in Redis (package id/redis) and in SQL databases (package id/sql);
// all of them do what Register does, atomically, by their own clock.
//
// What a store promises, and idtest checks: the windows [FromMs, UntilMs) that it
// ever grants for one number to different owners do not overlap.
//
// Calls may be repeated: whoever got no answer asks again with the same owner.
// Errors are those above, or say that the store could not be asked, and then
// nothing is known of the outcome.
type Store interface {
	// Acquire leases a number that nobody has, or the one that q.Owner has
	// already. ErrNoNumber, ErrClock, ErrLayout.
	Acquire(ctx context.Context, q Request) (Lease, error)

	// Renew extends the window of a number that q.Owner has. ErrLost, ErrClock,
	// ErrLayout.
	Renew(ctx context.Context, number int, q Request) (Lease, error)

	// Release gives a number back. usedMs is the end of what the owner has used
	// of its window: the next owner's begins there, or at the store's time. It
	// is not an error if the owner does not have the number.
	Release(ctx context.Context, number int, owner string, usedMs int64) error
}

// Request is what a node asks of a store.
type Request struct {
	Owner  string // a name that nobody else has, 1 to 64 letters and digits
	Layout Layout
	TTL    time.Duration // how far from now the window is to reach, in whole ms

	// ClockMs is the node's own clock (Unix), and SkewMs by how much the store's
	// may differ. Nothing is decided by it but whether to refuse: a clock that is
	// wrong by a year would otherwise spoil the numbers for a year.
	ClockMs, SkewMs int64
}

// Bounds of a request.
const (
	MinTTL = 100 * time.Millisecond
	MaxTTL = time.Hour

	maxOwner = 64
)

// Validate is an error if a request is out of bounds. Stores ask it first.
func (q *Request) Validate() error {
	if err := q.Layout.Validate(); err != nil {
		return err
	}
	switch {
	case q.TTL < MinTTL || q.TTL > MaxTTL || q.TTL%time.Millisecond != 0:
		return fmt.Errorf("id: a lease of %s: must be %s to %s, in whole milliseconds", q.TTL, MinTTL, MaxTTL)
	case q.SkewMs < 1:
		return fmt.Errorf("id: clocks may differ by %d ms: must be at least 1 ms", q.SkewMs)
	case !plain(q.Owner):
		return fmt.Errorf("id: owner %q: must be 1 to %d letters and digits", q.Owner, maxOwner)
	}
	return nil
}

func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			return false
		}
	}
	return s != "" && len(s) <= maxOwner
}

// Lease is the right to a number for ids whose time lies in a window. Times are
// Unix milliseconds of the store's clock.
type Lease struct {
	Number          int
	Owner           string
	FromMs, UntilMs int64 // the window: FromMs is in it, UntilMs is not
	NowMs           int64 // the store's clock when it answered
}
