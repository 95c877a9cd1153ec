package limit

import "errors"

// What can be wrong. A refusal is none of these: it is a Result.
var (
	// ErrInvalid is a policy, key, number or option that makes no sense.
	ErrInvalid = errors.New("limit: invalid")

	// ErrTooLarge is a take of more units than the limit: no waiting helps.
	ErrTooLarge = errors.New("limit: more than the limit ever allows")

	// ErrFull is a key that the memory store has no room for: the part of the
	// store to which it belongs is full, and no idle key was found in it by looking
	// at a few hundred; the next call goes on looking. Nothing was taken.
	ErrFull = errors.New("limit: too many keys")

	// ErrUnavailable is a store that gave no answer in time. Whether units were
	// taken is unknown. Let pass or refuse: the caller says which.
	ErrUnavailable = errors.New("limit: the store does not answer")
)
