package oncehttp

import (
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"strconv"
	"time"

	"rushgate/once"
)

// problem is the body of an answer of the middleware itself (RFC 9457). The code
// tells programs what it is.
type problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Code   string `json:"code"`
	Detail string `json:"detail,omitempty"`

	retryAfter time.Duration
}

func (p *problem) answer() *answer {
	p.Type = "about:blank"
	p.Title = http.StatusText(p.Status)
	body, _ := json.Marshal(p) // strings and a number
	h := http.Header{"Content-Type": {"application/problem+json"}, "Cache-Control": {"no-store"}}
	if p.retryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(int(math.Ceil(p.retryAfter.Seconds()))))
	}
	return &answer{Status: p.Status, Header: h, body: body}
}

// problemOf maps the errors of package once.
func problemOf(err error) *problem {
	var progress *once.InProgressError
	var body *http.MaxBytesError
	switch {
	case errors.As(err, &progress):
		return &problem{Status: http.StatusConflict, Code: "in_progress", retryAfter: min(max(progress.Left, time.Second), time.Minute),
			Detail: "the first request with this Idempotency-Key is being processed"}
	case errors.Is(err, once.ErrReused):
		return &problem{Status: http.StatusUnprocessableEntity, Code: "key_reused",
			Detail: "this Idempotency-Key was used for another request"}
	case errors.As(err, &body):
		return &problem{Status: http.StatusRequestEntityTooLarge, Code: "body_too_large",
			Detail: "the body has more than " + strconv.FormatInt(body.Limit, 10) + " bytes"}
	case errors.Is(err, once.ErrFull):
		return &problem{Status: http.StatusServiceUnavailable, Code: "overloaded", retryAfter: time.Second}
	}
	return &problem{Status: http.StatusServiceUnavailable, Code: "unsettled", retryAfter: time.Second,
		Detail: "it is not known whether the request was processed: repeat it with the same Idempotency-Key"}
}
