package limithttp

import (
	"fmt"
	"net/http"
	"time"

	"rushgate/limit"
)

// Key says whose limit a request counts against. An empty key leaves the rule
// out for this request.
type Key func(*http.Request) string

// Cost says how many units a request takes. 0 takes none, and is never refused.
type Cost func(*http.Request) int64

// Away says what happens to requests while the store gives no answer, or has no
// room for another key.
type Away int

// There is no default: to let everybody pass may be a stampede, and to refuse
// everybody is an outage.
const (
	_      Away = iota
	Pass        // requests pass, without limit and without RateLimit fields
	Refuse      // requests are answered 503 with Retry-After
)

// Options are what a Limited is made with.
type Options struct {
	// Keys has a Key for each rule, in order. Keys that are longer than
	// limit.MaxKey are replaced by a hash.
	Keys []Key

	// Costs has a Cost for each rule, in order; one that is nil, and all of
	// them when there are none, is 1.
	Costs []Cost

	// Away says what happens while the store gives no answer. It must be set.
	Away Away

	// Timeout bounds the wait for the store; default 100 ms.
	Timeout time.Duration

	// Partition tells clients, in the parameter pk, which partition of a rule
	// they are counted in: a hash of the key. Default: it is not told.
	Partition bool

	// ProblemType begins the type of problem documents, which ends with the
	// code: "/docs#" makes "/docs#rate_limited". Default: the type is
	// about:blank.
	ProblemType string

	// Observe, if set, hears of every request that was not simply granted.
	Observe func(*http.Request, Outcome)
}

// Outcome is what became of a request that was not simply granted.
type Outcome struct {
	Passed bool   // to the handler
	Rule   string // the rule with the longest wait, of a request that was refused by one
	Err    error  // of the store, or a cost that makes no sense
}

const (
	minTimeout = time.Millisecond
	maxTimeout = time.Minute
)

func (o *Options) complete(rules []limit.Rule) error {
	if o.Timeout == 0 {
		o.Timeout = 100 * time.Millisecond
	}
	if o.Observe == nil {
		o.Observe = func(*http.Request, Outcome) {}
	}
	if len(o.Keys) != len(rules) {
		return fmt.Errorf("%w Keys: there must be one for each of %d rules, not %d", limit.ErrInvalid, len(rules), len(o.Keys))
	}
	for i, key := range o.Keys {
		if key == nil {
			return fmt.Errorf("%w Keys: that of rule %q is nil, as Address is for a negative number of proxies", limit.ErrInvalid, rules[i].Name)
		}
	}
	if len(o.Costs) != 0 && len(o.Costs) != len(rules) {
		return fmt.Errorf("%w Costs: there must be none, or one for each of %d rules, not %d", limit.ErrInvalid, len(rules), len(o.Costs))
	}
	if o.Away != Pass && o.Away != Refuse {
		return fmt.Errorf("%w Away: say Pass or Refuse", limit.ErrInvalid)
	}
	if o.Timeout < minTimeout || o.Timeout > maxTimeout {
		return fmt.Errorf("%w Timeout: it must be %s to %s, not %s", limit.ErrInvalid, minTimeout, maxTimeout, o.Timeout)
	}
	return nil
}
