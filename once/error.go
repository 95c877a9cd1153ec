package once

import (
	"errors"
	"fmt"
	"time"
)

// The errors that a caller can test for with errors.Is. All others come from the
// store or from the work itself.
var (
	// ErrInProgress: somebody else is at it, and the caller does not wait, or has
	// waited for as long as it may. Nothing is known of the outcome. The consumer
	// of a queue must not acknowledge its message because of this error: whoever
	// is at it may have died. The error is an *InProgressError.
	ErrInProgress = errors.New("once: in progress")

	// ErrFailed: the work has failed for ever, with Permanent, now or earlier.
	// The error is a *FailedError.
	ErrFailed = errors.New("once: failed for ever")

	// ErrReused: the key was used before for another request. See Matching.
	ErrReused = errors.New("once: the key stands for another request")

	// ErrLost: the attempt lost its key, as its lease could not be renewed or
	// somebody forgot the key, and no result is recorded yet. It is also the cause
	// (context.Cause) of the end of the work's context. The work may have been done.
	ErrLost = errors.New("once: the attempt has lost its key")

	// ErrUnrecorded: the work was done, and the store did not confirm the
	// result. Doing it again tells the truth; it may run the work again.
	ErrUnrecorded = errors.New("once: the result may not be recorded")

	// ErrTooLarge: a result is larger than MaxResult. After Do the work has been
	// done, and is not done again: it has failed for ever (ErrFailed, and so it is
	// told to all others). DoTx has undone it, and the key is free.
	ErrTooLarge = errors.New("once: the result is too large")

	// ErrFull: a bound is reached: callers that wait in this process, or what
	// the memory store may hold.
	ErrFull = errors.New("once: full")

	// ErrName: a key, a set, a member or a tag is not within the bounds.
	ErrName = errors.New("once: not a name")

	// ErrUnsupported: this store cannot do that.
	ErrUnsupported = errors.New("once: not supported by this store")
)

// InProgressError says how long it can take until the key is free if nobody
// ends the attempt properly.
type InProgressError struct {
	Left time.Duration // of the lease, which may be renewed; 0 when it is not known
}

// Error says it in a line.
func (e *InProgressError) Error() string {
	if e.Left <= 0 {
		return ErrInProgress.Error()
	}
	return fmt.Sprintf("%v: the lease ends in %v unless it is renewed", ErrInProgress, e.Left.Round(time.Millisecond))
}

// Is makes it an ErrInProgress.
func (e *InProgressError) Is(target error) bool { return target == ErrInProgress }

// FailedError is a failure that is kept as a result.
type FailedError struct {
	Message string // of the error that the work returned, at most MaxMessage bytes
	Token   int64  // of the attempt that failed
	Number  int

	cause error // in the process where it failed
}

// MaxMessage bounds the text of a failure that is kept, in bytes. What is longer
// is cut.
const MaxMessage = 1024

// Error says it in a line.
func (e *FailedError) Error() string { return ErrFailed.Error() + ": " + e.Message }

// Is makes it an ErrFailed.
func (e *FailedError) Is(target error) bool { return target == ErrFailed }

// Unwrap returns the work's own error where the work was run, otherwise nil.
func (e *FailedError) Unwrap() error { return e.cause }

// Permanent marks an error of the work as one that trying again would not mend:
// it is kept as the result, and everybody who asks gets it. Permanent(nil) is nil.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return &permanent{err}
}

// IsPermanent says that an error is marked by Permanent, and returns the text to
// be kept. It is for those who implement a store with work of its own.
func IsPermanent(err error) (message string, yes bool) {
	p, yes := errors.AsType[*permanent](err)
	if !yes {
		return "", false
	}
	message = p.Error()
	return message[:min(len(message), MaxMessage)], true
}

// NewFailedError returns the error of a kept failure; cause may be nil. It is for
// those who implement a store with work of its own.
func NewFailedError(message string, token int64, number int, cause error) *FailedError {
	return &FailedError{Message: message, Token: token, Number: number, cause: cause}
}

type permanent struct{ error }

func (p *permanent) Unwrap() error { return p.error }
