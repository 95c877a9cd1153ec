package limithttp

import (
	"encoding/json"
	"net/http"
	"strconv"
	"time"
)

// Codes of problem documents.
const (
	CodeRateLimited = "rate_limited" // 429: come back after Retry-After
	CodeTooLarge    = "too_large"    // 413: it costs more than is ever allowed
	CodeUnavailable = "unavailable"  // 503: the store gives no answer
	CodeInternal    = "internal"     // 500: the cost of the request makes no sense
)

// Problem is the body of a refusal (RFC 9457).
type Problem struct {
	Type       string `json:"type"`
	Title      string `json:"title"`
	Status     int    `json:"status"`
	Detail     string `json:"detail"`
	Code       string `json:"code"`
	Rule       string `json:"rule,omitempty"`
	RetryAfter int64  `json:"retry_after,omitempty"` // seconds
}

// refuse answers with a problem.
func (l *Limited) refuse(w http.ResponseWriter, p Problem, wait time.Duration) {
	p.Type = "about:blank"
	if l.options.ProblemType != "" {
		p.Type = l.options.ProblemType + p.Code
	}
	h := w.Header()
	if wait > 0 {
		p.RetryAfter = seconds(wait)
		h.Set("Retry-After", strconv.FormatInt(p.RetryAfter, 10))
	}
	body, err := json.Marshal(p)
	if err != nil { // cannot be: strings and numbers
		body = nil
	}
	h.Set("Content-Type", "application/problem+json")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(p.Status)
	_, _ = w.Write(body) // who has left does not read
}
