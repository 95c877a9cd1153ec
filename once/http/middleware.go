package oncehttp

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"

	"rushgate/once"
)

// New returns a middleware: a function that wraps a handler.
func New(c Config) (func(http.Handler) http.Handler, error) {
	c.complete()
	if err := c.check(); err != nil {
		return nil, err
	}
	return func(next http.Handler) http.Handler { return &middleware{cfg: c, next: next} }, nil
}

type middleware struct {
	cfg  Config
	next http.Handler
}

// attemptKey is where an attempt is in the context of a request.
type attemptKey struct{}

// AttemptOf returns the attempt that a handler is: its number and its fencing
// token. It is false where the middleware does not apply.
func AttemptOf(ctx context.Context) (once.Attempt, bool) {
	a, ok := ctx.Value(attemptKey{}).(once.Attempt)
	return a, ok
}

// ServeHTTP implements http.Handler.
func (m *middleware) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !slices.Contains(m.cfg.Methods, r.Method) {
		m.next.ServeHTTP(w, r)
		return
	}
	key, err := keyOf(r.Header)
	if err == nil && key == "" && !m.cfg.Required {
		m.next.ServeHTTP(w, r)
		return
	}
	if err != nil || key == "" {
		p := &problem{Status: http.StatusBadRequest, Code: "key_malformed", Detail: errKey.Error()}
		if err == nil {
			p.Code, p.Detail = "key_missing", "this request needs an Idempotency-Key"
		}
		p.answer().write(w, false)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, m.cfg.MaxBody))
	if err != nil {
		if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
			problemOf(err).answer().write(w, false)
			return
		}
		p := &problem{Status: http.StatusBadRequest, Code: "body_unreadable", Detail: "the body ends too early"}
		p.answer().write(w, false)
		return
	}
	a, replayed := m.serve(r, key, body)
	a.write(w, replayed)
}

// errNotKept frees the key: the answer is for its own caller alone.
var errNotKept = errors.New("once: the answer is not kept")

// serve returns the answer to a request, whoever made it.
func (m *middleware) serve(r *http.Request, key string, body []byte) (a *answer, replayed bool) {
	options := []once.Option{once.Matching(fingerprinted(r, body))}
	if m.cfg.NoWait {
		options = append(options, once.NoWait())
	}
	result, err := m.cfg.Once.Do(r.Context(), scoped(m.cfg.Scope(r), key), func(ctx context.Context, attempt once.Attempt) ([]byte, error) {
		var kept []byte
		var err error
		a, kept, err = m.run(r.WithContext(context.WithValue(ctx, attemptKey{}, attempt)), body)
		return kept, err
	}, options...)
	switch {
	case errors.Is(err, errNotKept):
		return a, false
	case errors.Is(err, once.ErrFailed):
		return tooLarge(), a == nil
	case err != nil:
		return problemOf(err).answer(), false
	case !result.Replayed:
		return a, false
	}
	if a, err = decode(result.Value); err != nil {
		return problemOf(err).answer(), false
	}
	return a, true
}

// run lets the handler serve, and returns its answer, and how it is kept.
func (m *middleware) run(r *http.Request, body []byte) (*answer, []byte, error) {
	r.Body = io.NopCloser(bytes.NewReader(body))
	rec := newRecorder()
	rec.limit = m.cfg.Once.MaxResult()
	m.next.ServeHTTP(rec, r)
	if rec.status == 0 && r.Context().Err() != nil {
		return problemOf(r.Context().Err()).answer(), nil, errNotKept // it gave up: without a word is no answer
	}
	a := rec.answer()
	if !m.cfg.Keep(a.Status) {
		return a, nil, errNotKept
	}
	kept, err := a.encode()
	if err == nil && (rec.cut || len(kept) > rec.limit) {
		// It was done. To do it again would be worse than an answer that is lost.
		err = once.Permanent(fmt.Errorf("%w: %d bytes", once.ErrTooLarge, len(kept)))
	}
	return a, kept, err
}

func tooLarge() *answer {
	p := &problem{Status: http.StatusInternalServerError, Code: "answer_too_large",
		Detail: "the request was processed, and its answer is too large to be kept"}
	return p.answer()
}

// scoped makes the key under which an answer is kept, of a fixed length.
func scoped(scope, key string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d:%s%s", len(scope), scope, key))
	return "http:" + hex.EncodeToString(sum[:])
}

// fingerprinted is what makes a request the same one: method, target, type and body.
func fingerprinted(r *http.Request, body []byte) []byte {
	return append(fmt.Appendf(nil, "%q %q %q\n", r.Method, r.URL.RequestURI(), r.Header.Get("Content-Type")), body...)
}
