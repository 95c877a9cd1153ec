package limithttp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"time"

	"rushgate/limit"
)

// Limited holds requests to rules.
type Limited struct {
	joint    limit.Joint
	rules    []limit.Rule
	policies [][]byte // as they are told
	options  Options
}

// New makes a Limited. limit.ErrInvalid says what is wrong with the options.
func New(joint limit.Joint, options Options) (*Limited, error) {
	if joint == nil {
		return nil, fmt.Errorf("%w joint: there is none", limit.ErrInvalid)
	}
	l := &Limited{joint: joint, rules: joint.Rules(), options: options}
	if err := l.options.complete(l.rules); err != nil {
		return nil, err
	}
	for i := range l.rules {
		l.policies = append(l.policies, policyField(nil, &l.rules[i]))
	}
	return l, nil
}

// Wrap returns a handler that lets through what the rules grant.
func (l *Limited) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if l.admit(w, r) {
			next.ServeHTTP(w, r)
		}
	})
}

// awayRetry is when to come back to a store that gave no answer.
const awayRetry = time.Second

// admit says whether a request passes; otherwise it is answered.
func (l *Limited) admit(w http.ResponseWriter, r *http.Request) bool {
	asks := l.asks(r)
	ctx, cancel := context.WithTimeout(r.Context(), l.options.Timeout)
	defer cancel()
	v, err := l.joint.Take(ctx, asks)
	if err != nil {
		return l.failed(w, r, err)
	}
	l.tell(w.Header(), asks, v.Results)
	if v.Granted {
		return true
	}
	rule := l.strictest(v)
	l.options.Observe(r, Outcome{Rule: rule})
	l.refuse(w, Problem{Status: http.StatusTooManyRequests, Code: CodeRateLimited, Title: "Too many requests",
		Detail: "the limit " + rule + " is reached; come back after Retry-After", Rule: rule}, max(v.RetryAfter, 1))
	return false
}

// failed answers a request about which there was no decision.
func (l *Limited) failed(w http.ResponseWriter, r *http.Request, err error) bool {
	away := errors.Is(err, limit.ErrUnavailable) || errors.Is(err, limit.ErrFull)
	pass := away && l.options.Away == Pass
	l.options.Observe(r, Outcome{Passed: pass, Err: err})
	switch {
	case pass:
		return true
	case away:
		l.refuse(w, Problem{Status: http.StatusServiceUnavailable, Code: CodeUnavailable, Title: "Unavailable",
			Detail: "the limits cannot be looked up now; nothing was done"}, awayRetry)
	case errors.Is(err, limit.ErrTooLarge):
		l.refuse(w, Problem{Status: http.StatusRequestEntityTooLarge, Code: CodeTooLarge, Title: "Too large",
			Detail: "the request costs more than the limit ever allows"}, 0)
	default:
		l.refuse(w, Problem{Status: http.StatusInternalServerError, Code: CodeInternal, Title: "Internal error",
			Detail: "something is wrong in the server; its log says what"}, 0)
	}
	return false
}

// asks says what a request asks of each rule.
func (l *Limited) asks(r *http.Request) []limit.Ask {
	asks := make([]limit.Ask, len(l.rules))
	for i := range asks {
		asks[i] = limit.Ask{Key: bounded(l.options.Keys[i](r)), N: 1}
		if len(l.options.Costs) > 0 && l.options.Costs[i] != nil {
			asks[i].N = l.options.Costs[i](r)
		}
	}
	return asks
}

// bounded replaces a key that is too long for a store.
func bounded(key string) string {
	if len(key) <= limit.MaxKey {
		return key
	}
	sum := sha256.Sum256([]byte(key))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// strictest names the rule with the longest wait of those that refused.
func (l *Limited) strictest(v limit.Verdict) string {
	for i := range v.Results {
		if !v.Results[i].Granted && v.Results[i].RetryAfter == v.RetryAfter {
			return l.rules[i].Name
		}
	}
	return "" // cannot be: it was refused by one
}
