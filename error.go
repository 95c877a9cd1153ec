package rushgate

import (
	"errors"
	"fmt"
	"time"
)

// Code names an outcome, for programs. The refusals among them are the stable
// `code` of the API's problem documents.
type Code string

// Outcomes of a claim.
const (
	Granted      Code = "granted"
	Replayed     Code = "replayed" // the same key again: the claim that it made
	SoldOut      Code = "sold_out"
	LimitReached Code = "limit_reached"
	NotOpen      Code = "not_open"
	Closed       Code = "closed"
	Frozen       Code = "frozen"
	KeyReused    Code = "key_reused"
	Overloaded   Code = "overloaded"
	Unavailable  Code = "unavailable"

	// Forgot is a shared gate's word to the desk, and goes no further: the
	// gate has lost what it knew of the sale, and must be loaded anew.
	Forgot Code = "forgot"
)

// What else can be wrong.
const (
	Invalid       Code = "invalid"
	NotFound      Code = "not_found"
	WrongState    Code = "wrong_state"
	NotEnoughFree Code = "not_enough_free"
	AlreadyExists Code = "already_exists"
)

// Error is the one error that a Service answers with.
type Error struct {
	Code    Code
	Message string // for people: what is wrong, and how to mend it
	Field   string // Invalid: the field, as the API names it

	Claims     []ID          // LimitReached: what the user has
	Claim      *Claim        // WrongState of a claim: as it is
	OpensAt    time.Time     // NotOpen
	RetryAfter time.Duration // Overloaded, Unavailable: when to try again
	Epoch      int64         // Forgot: of the picture that was lost, if it is known

	Cause error
}

func (e *Error) Error() string {
	msg := string(e.Code)
	if e.Field != "" {
		msg += ": " + e.Field
	}
	if e.Message != "" {
		msg += ": " + e.Message
	}
	if e.Cause != nil {
		msg += ": " + e.Cause.Error()
	}
	return msg
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// Is lets errors.Is compare by code: errors.Is(err, &Error{Code: SoldOut}).
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code
}

// CodeOf returns the code of an error of a Service, "" for nil and
// Unavailable for anything that is not an *Error.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return Unavailable
}

func invalid(field, format string, args ...any) *Error {
	return &Error{Code: Invalid, Field: field, Message: fmt.Sprintf(format, args...)}
}

func unavailable(cause error, message string) *Error {
	return &Error{Code: Unavailable, Message: message, RetryAfter: time.Second, Cause: cause}
}
