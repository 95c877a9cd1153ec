package rushgate

import (
	"errors"
	"fmt"
	"time"
)

// asError makes an *Error of whatever a ledger returned. A ledger that is lost
// ends the service: nothing that it would sell could be written down.
func (s *Service) asError(err error) error {
	var e *Error
	if err == nil || errors.As(err, &e) {
		return err
	}
	s.desk.endIfLost(err)
	return unavailable(err, "the ledger cannot be read now")
}

// refusal words a gate's refusal.
func refusal(code Code, sale *Sale) error {
	switch code {
	case SoldOut:
		return errSoldOut
	case NotOpen:
		return &Error{Code: NotOpen, Message: "the sale opens at " + sale.OpensAt.UTC().Format(time.RFC3339), OpensAt: sale.OpensAt}
	case Closed:
		return &Error{Code: Closed, Message: "the sale is closed"}
	case Frozen:
		return &Error{Code: Frozen, Message: "the sale is frozen by an operator", RetryAfter: time.Second}
	}
	return &Error{Code: Unavailable, Message: "the gate does not know this item yet", RetryAfter: time.Second}
}

func limitReached(sale *Sale, has []ID) *Error {
	e := &Error{Code: LimitReached, Claims: has}
	if sale != nil {
		e.Message = fmt.Sprintf("one user may have %d at a time; claims lists what this one has", sale.PerUser)
	}
	return e
}

// errSoldOut is shared: it is the answer to nearly everybody.
var errSoldOut = &Error{Code: SoldOut, Message: "not enough units are free"}

func unknownSale(id string) *Error {
	return &Error{Code: NotFound, Message: "there is no sale " + clip(id)}
}

// clip keeps what a stranger sent from filling logs and answers.
func clip(s string) string {
	if len(s) > MaxIDBytes {
		return s[:MaxIDBytes] + "…"
	}
	return s
}
