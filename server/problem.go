package server

import (
	"errors"
	"net/http"
	"runtime/debug"
	"strconv"
	"time"

	"rushgate"
	"rushgate/admission"
)

// Codes of problems that only HTTP has.
const (
	codeMethodNotAllowed rushgate.Code = "method_not_allowed"
	codeTooLarge         rushgate.Code = "too_large"
	codeUnsupportedType  rushgate.Code = "unsupported_media_type"
	codeInternal         rushgate.Code = "internal"
)

// meaning is the one place that says what a code is in HTTP.
func meaning(code rushgate.Code) (status int, title string) {
	switch code {
	case rushgate.SoldOut:
		return http.StatusConflict, "Sold out"
	case rushgate.LimitReached:
		return http.StatusConflict, "Limit reached"
	case rushgate.NotOpen:
		return http.StatusConflict, "Not open yet"
	case rushgate.Closed:
		return http.StatusConflict, "Closed"
	case rushgate.Frozen:
		return http.StatusConflict, "Frozen"
	case rushgate.WrongState:
		return http.StatusConflict, "Wrong state"
	case rushgate.NotEnoughFree:
		return http.StatusConflict, "Not enough free"
	case rushgate.AlreadyExists:
		return http.StatusConflict, "Exists already"
	case rushgate.KeyReused:
		return http.StatusUnprocessableEntity, "Idempotency key reused"
	case rushgate.Invalid:
		return http.StatusBadRequest, "Invalid request"
	case rushgate.NotFound:
		return http.StatusNotFound, "Not found"
	case rushgate.Overloaded:
		return http.StatusServiceUnavailable, "Overloaded"
	case rushgate.Unavailable:
		return http.StatusServiceUnavailable, "Unavailable"
	case admission.Unauthenticated:
		return http.StatusUnauthorized, "Unauthenticated"
	case admission.Forbidden:
		return http.StatusForbidden, "Forbidden"
	case codeMethodNotAllowed:
		return http.StatusMethodNotAllowed, "Method not allowed"
	case codeTooLarge:
		return http.StatusRequestEntityTooLarge, "Too large"
	case codeUnsupportedType:
		return http.StatusUnsupportedMediaType, "Unsupported media type"
	}
	return http.StatusInternalServerError, "Internal error"
}

// described is what an error becomes in HTTP, apart from its document.
type described struct {
	status       int
	title        string
	retryAfter   int64  // seconds; 0 for none
	authenticate string // WWW-Authenticate
	requestID    string // of failures of ours
}

// describe finds the status and the headers of an error, and logs it if it is
// a failure of ours. named returns what the caller calls the request.
func (s *Server) describe(e *rushgate.Error, named func() string, method, path string) described {
	var d described
	d.status, d.title = meaning(e.Code)
	switch {
	case e.RetryAfter > 0:
		d.retryAfter = seconds(e.RetryAfter)
	case d.status == http.StatusServiceUnavailable:
		d.retryAfter = 1
	case d.status == http.StatusUnauthorized:
		d.authenticate = `Bearer realm="rushgate"`
	}
	if d.status >= http.StatusInternalServerError {
		d.requestID = s.requestID(named())
		s.complain(method, path, e, d.status, d.requestID)
	}
	return d
}

// problem answers with an error, and returns the status.
func (s *Server) problem(w http.ResponseWriter, r *http.Request, err error) int {
	e := asError(err)
	p := s.describe(e, func() string { return r.Header.Get("X-Request-Id") }, r.Method, r.URL.Path)
	h := w.Header()
	h["Content-Type"] = typeProblem
	delete(h, "Etag")
	if p.retryAfter > 0 {
		h["Retry-After"] = []string{strconv.FormatInt(p.retryAfter, 10)}
	}
	if p.authenticate != "" {
		h["Www-Authenticate"] = []string{p.authenticate}
	}
	if p.requestID != "" {
		h["X-Request-Id"] = []string{p.requestID}
	}
	b := s.take()
	b.out = appendProblem(b.out[:0], e, p.status, p.title, p.requestID)
	w.WriteHeader(p.status)
	_, _ = w.Write(b.out) // who has left does not read
	s.put(b)
	return p.status
}

// asError returns the *rushgate.Error that err is; anything else is a fault of ours.
func asError(err error) *rushgate.Error {
	var e *rushgate.Error
	if errors.As(err, &e) {
		return e
	}
	return &rushgate.Error{Code: codeInternal, Message: "something is wrong in the server; its log says what", Cause: err}
}

// seconds rounds up: who comes back too early is refused again.
func seconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }

// appendProblem writes an RFC 9457 document. The cause of an error is for the
// log, not for strangers.
func appendProblem(b []byte, e *rushgate.Error, status int, title, requestID string) []byte {
	b = append(b, `{"type":"/docs#`...)
	b = append(b, e.Code...)
	b = append(b, `","title":"`...)
	b = append(b, title...)
	b = append(b, `","status":`...)
	b = strconv.AppendInt(b, int64(status), 10)
	b = appendText(b, `,"detail":`, e.Message)
	b = append(b, `,"code":"`...)
	b = append(b, e.Code...)
	b = append(b, '"')
	if e.Field != "" {
		b = appendText(b, `,"field":`, e.Field)
	}
	if e.Code == rushgate.LimitReached {
		b = append(b, `,"claims":[`...)
		for i, id := range e.Claims {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendID(b, id)
		}
		b = append(b, ']')
	}
	if !e.OpensAt.IsZero() {
		b = appendTime(append(b, `,"opens_at":`...), e.OpensAt)
	}
	if e.Claim != nil {
		b = appendText(b, `,"state":`, string(e.Claim.State))
		b = append(b, `,"claim":`...)
		b = appendClaim(b, &rushgate.Receipt{Claim: *e.Claim})
	}
	if requestID != "" {
		b = appendText(b, `,"request_id":`, requestID)
	}
	return append(b, '}')
}

// requestID returns what this request is called in the log: the caller's own
// name for it, or a new number.
func (s *Server) requestID(named string) string {
	if named != "" && len(named) <= 64 && printableASCII(named) {
		return named
	}
	return "r" + strconv.FormatUint(s.requests.Add(1), 10)
}

func printableASCII(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] <= ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// complain logs a failure of ours. Under a stampede one line a second says as
// much as ten thousand.
func (s *Server) complain(method, path string, e *rushgate.Error, status int, requestID string) {
	if e.Code == codeInternal {
		s.log.Error("a request failed", "request", requestID, "method", method, "path", path, "status", status, "error", e.Cause)
		return
	}
	if suppressed, ok := s.quiet.ask(time.Now(), e.Code); ok {
		s.log.Error("a request could not be served", "request", requestID, "method", method, "path", path,
			"status", status, "error", e, "not_logged", suppressed)
	}
}

// panicked answers for a handler that panicked: a fault of ours, whatever came in.
func (s *Server) panicked(w http.ResponseWriter, r *http.Request, p any) int {
	if p == http.ErrAbortHandler {
		panic(p)
	}
	s.logPanic(p)
	return s.problem(w, r, errPanicked)
}

func (s *Server) logPanic(p any) {
	s.log.Error("a handler panicked", "panic", p, "stack", string(debug.Stack()))
}
