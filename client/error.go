package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// Code names what a server answered, for programs.
type Code string

// The codes of the API.
const (
	SoldOut         Code = "sold_out"
	LimitReached    Code = "limit_reached"
	NotOpen         Code = "not_open"
	Closed          Code = "closed"
	Frozen          Code = "frozen"
	KeyReused       Code = "key_reused"
	WrongState      Code = "wrong_state"
	NotEnoughFree   Code = "not_enough_free"
	AlreadyExists   Code = "already_exists"
	NotFound        Code = "not_found"
	Invalid         Code = "invalid"
	Unauthenticated Code = "unauthenticated"
	Forbidden       Code = "forbidden"
	NotEligible     Code = "not_eligible"
	RateLimited     Code = "rate_limited"
	QueueRequired   Code = "queue_required"
	Overloaded      Code = "overloaded"
	Unavailable     Code = "unavailable"
)

// What only the client can tell.
const (
	// Unreachable: there was no answer, or not a whole one. Whether the
	// server did what it was asked is unknown; asking again with the same
	// idempotency key tells.
	Unreachable Code = "unreachable"
	// Strange: the answer was not one of this API. Something else stands at
	// this address, or between.
	Strange Code = "strange"
)

// Error is the one error of this package: a problem document (RFC 9457) of the
// server, or Unreachable.
type Error struct {
	Code    Code
	Status  int    // of HTTP; 0 when there was no answer
	Message string // for people
	Field   string // Invalid: the field that is wrong

	Claims     []string      // LimitReached: the ids of the user's claims
	State      string        // WrongState: the state that the claim is in
	OpensAt    time.Time     // NotOpen
	RetryAfter time.Duration // when to try again; 0 if the server did not say

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

// Unwrap returns the cause, so that errors.Is finds context.Canceled.
func (e *Error) Unwrap() error { return e.Cause }

// CodeOf returns the code of an error of this package, "" for nil and for any
// other error.
func CodeOf(err error) Code {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// problem is the document as the server writes it. Where the detail is
// missing, the title has to do.
type problem struct {
	Code    Code            `json:"code"`
	Status  int             `json:"status"`
	Title   string          `json:"title"`
	Detail  string          `json:"detail"`
	Field   string          `json:"field"`
	Claims  []string        `json:"claims"`
	State   string          `json:"state"`
	Claim   *Claim          `json:"claim"`
	OpensAt time.Time       `json:"opens_at"`
	Retry   json.RawMessage `json:"retry_after"` // the header says it, too
}

func (p *problem) asError(status int) *Error {
	e := &Error{Code: p.Code, Status: status, Message: p.Detail, Field: p.Field,
		Claims: p.Claims, State: p.State, OpensAt: p.OpensAt}
	if e.Message == "" {
		e.Message = p.Title
	}
	if e.State == "" && p.Claim != nil {
		e.State = p.Claim.State
	}
	return e
}

// errorOf reads the error that a response is.
func errorOf(resp *http.Response, body []byte) *Error {
	var p problem
	if err := json.Unmarshal(body, &p); err != nil || p.Code == "" {
		return &Error{Code: strangeCode(resp.StatusCode), Status: resp.StatusCode, RetryAfter: retryAfter(resp.Header),
			Message: fmt.Sprintf("%s, without a problem document: is this a Rushgate server?", resp.Status)}
	}
	e := p.asError(resp.StatusCode)
	e.RetryAfter = retryAfter(resp.Header)
	return e
}

// strangeCode gives what a proxy on the way answered the nearest code.
func strangeCode(status int) Code {
	switch status {
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return Unavailable
	case http.StatusTooManyRequests:
		return RateLimited
	case http.StatusUnauthorized:
		return Unauthenticated
	}
	return Strange
}
