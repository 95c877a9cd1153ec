package lock

import (
	"context"
	"errors"
	"fmt"
)

// The errors of this package. All are to be tested by errors.Is: what is
// returned says in its text which key it is about.
var (
	// ErrHeld answers a Try: others have the key, or wait for it.
	ErrHeld = errors.New("is held by others")

	// ErrTimeout ends a wait after MaxWait.
	ErrTimeout = errors.New("was not to be had in time")

	// ErrLineFull answers who comes when MaxWaiters wait already.
	ErrLineFull = errors.New("has too many waiting for it")

	// ErrUpgrade answers an owner that asks for more permits of a key than it
	// holds already, such as a writer's lock while it has a reader's: two who do
	// this would wait for each other for ever. Unlock first.
	ErrUpgrade = errors.New("is held by the same owner with fewer permits")

	// ErrLost is the cause of a held context that ended because the lease did,
	// and Unlock's answer then: somebody else may have had the lock meanwhile.
	ErrLost = errors.New("was lost")

	// ErrReleased is the cause of a held context after Unlock, and what a second
	// Unlock returns.
	ErrReleased = errors.New("was unlocked")

	// ErrUnavailable is a server that did not answer: what was asked may have
	// been done. After a Lock that failed so, nothing is held by the caller; what
	// the server may think ends with the lease, and usually at once.
	ErrUnavailable = errors.New("the lock server gives no answer")

	// ErrClosed is what a closed Locker answers, and the cause of the contexts
	// of locks that were held then.
	ErrClosed = errors.New("the locker is closed")

	// ErrInvalid is an argument or option that is out of its bounds.
	ErrInvalid = errors.New("invalid")
)

// about says which key an error is about.
func about(key string, err error) error { return fmt.Errorf("lock %q: %w", key, err) }

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrInvalid}, args...)...)
}

// why is the error of a context that has ended.
func why(ctx context.Context) error {
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, ctx.Err()) {
		return fmt.Errorf("%w: %w", ctx.Err(), cause)
	}
	return ctx.Err()
}
