package server

import (
	"errors"
	"fmt"

	"rushgate"
	"rushgate/admission"
)

// The refusals that the server words itself.

func invalid(field, format string, args ...any) *rushgate.Error {
	return &rushgate.Error{Code: rushgate.Invalid, Field: field, Message: fmt.Sprintf(format, args...)}
}

func errNowhere(path string) *rushgate.Error {
	return &rushgate.Error{Code: rushgate.NotFound, Message: "there is nothing at " + clip(path) + "; /docs says what there is"}
}

func errMethod(method, allow string) *rushgate.Error {
	return &rushgate.Error{Code: codeMethodNotAllowed, Message: clip(method) + " is not for this path; use " + allow}
}

func errTooLarge(limit int64) *rushgate.Error {
	return &rushgate.Error{Code: codeTooLarge, Message: fmt.Sprintf("the body may have at most %d bytes", limit)}
}

func errType() *rushgate.Error {
	return &rushgate.Error{Code: codeUnsupportedType, Message: "the body must be application/json, and say so in Content-Type"}
}

func errEncoded(coding string) *rushgate.Error {
	return &rushgate.Error{Code: codeUnsupportedType, Message: "the body must be sent as it is, without Content-Encoding " + clip(coding)}
}

func errCrossSite() *rushgate.Error {
	return &rushgate.Error{Code: admission.Forbidden, Message: "a page of another origin may not send this"}
}

// noClaim is the answer for a claim that is not there, and for one that is
// somebody else's: a stranger learns nothing by trying ids.
func noClaim() *rushgate.Error {
	return &rushgate.Error{Code: rushgate.NotFound, Message: "there is no such claim"}
}

var errPanicked = errors.New("a handler panicked")

// clip keeps what a stranger sent from filling answers and logs.
func clip(s string) string {
	if len(s) > 80 {
		return s[:80] + "…"
	}
	return s
}
