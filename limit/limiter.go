package limit

import (
	"context"
	"fmt"
)

// Limiter holds one policy for many keys. Every call is one atomic decision, on
// the store's clock; calls may come from any number of goroutines.
//
// Errors: ErrInvalid (a key that CheckKey refuses, a negative n), ErrTooLarge (n
// is more than the limit), ErrUnavailable (the store gave no answer), ErrFull
// (the memory store has no room for one more key). A refusal is not an error.
type Limiter interface {
	// Policy returns the policy.
	Policy() Policy

	// Take takes n units for a key, all or none. It never waits for units.
	// Taking 0 is always granted, and tells how the key stands.
	Take(ctx context.Context, key string, n int64) (Result, error)

	// Peek answers what Take would, and takes nothing.
	Peek(ctx context.Context, key string, n int64) (Result, error)

	// GiveBack undoes n units of what a Take of the same key has taken: of work
	// that was not done, or cost less than was reserved. n, and the sum of all
	// that is given back of one Result, must not be more than was taken; only
	// the first is checked (ErrInvalid). Units are worth what is surely left of
	// them, so that giving back never makes a limit more generous than if they
	// had not been taken: all, at once; nothing, when they would have come back
	// by themselves. In between a bucket's units lose what has flowed in since
	// they were taken; those of a window count in full until it ends.
	GiveBack(ctx context.Context, key string, taken Result, n int64) (Result, error)

	// Forget lets a key begin anew, with the whole limit.
	Forget(ctx context.Context, key string) error
}

// Rule is a policy with the name under which it is told to clients and kept in a
// store: 1 to 64 of a-z, 0-9, "_", "-" and ".".
type Rule struct {
	Name   string
	Policy Policy
}

// Ask is what is asked of one rule. An empty key leaves the rule out.
type Ask struct {
	Key string
	N   int64
}

// Joint holds several rules that are decided together: per user and per address
// and for all, or requests and bytes. A take is granted by all or taken from
// none, in one atomic step. Errors are those of a Limiter.
type Joint interface {
	// Rules returns the rules in order.
	Rules() []Rule

	// Take asks every rule, in the order of Rules. There must be one ask for
	// each rule (ErrInvalid).
	Take(ctx context.Context, asks []Ask) (Verdict, error)

	// Peek answers what Take would, and takes nothing.
	Peek(ctx context.Context, asks []Ask) (Verdict, error)

	// GiveBack undoes what a granted Take of the same keys has taken, so many
	// units of each: see Limiter.
	GiveBack(ctx context.Context, asks []Ask, taken Verdict) error
}

// MaxRules is how many rules a Joint may have.
const MaxRules = 16

// ValidateRules says what is wrong with the rules of a Joint (ErrInvalid).
func ValidateRules(rules []Rule) error {
	if len(rules) < 1 || len(rules) > MaxRules {
		return fmt.Errorf("%w rules: there must be 1 to %d, not %d", ErrInvalid, MaxRules, len(rules))
	}
	seen := map[string]bool{}
	for _, r := range rules {
		if err := CheckName(r.Name); err != nil {
			return err
		}
		if seen[r.Name] {
			return fmt.Errorf("%w rules: two have the name %q", ErrInvalid, r.Name)
		}
		seen[r.Name] = true
		if err := r.Policy.Validate(); err != nil {
			return fmt.Errorf("rule %q: %w", r.Name, err)
		}
	}
	return nil
}

// CheckName says whether a rule can have this name (ErrInvalid).
func CheckName(name string) error {
	ok := len(name) >= 1 && len(name) <= 64
	for i := 0; i < len(name) && ok; i++ {
		c := name[i]
		ok = c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '_' || c == '-' || c == '.'
	}
	if !ok {
		return fmt.Errorf("%w name of a rule: %q must be 1 to 64 of a-z, 0-9, dots, dashes and underscores", ErrInvalid, name)
	}
	return nil
}

// CheckAsks says whether asks can be put to rules: their number, keys and units.
func CheckAsks(rules []Rule, asks []Ask) error {
	if len(asks) != len(rules) {
		return fmt.Errorf("%w asks: there are %d rules and %d asks", ErrInvalid, len(rules), len(asks))
	}
	for i, a := range asks {
		if a.Key == "" {
			continue
		}
		if err := CheckKey(a.Key); err != nil {
			return fmt.Errorf("rule %q: %w", rules[i].Name, err)
		}
		if err := rules[i].Policy.CheckUnits(a.N); err != nil {
			return fmt.Errorf("rule %q: %w", rules[i].Name, err)
		}
	}
	return nil
}

// CheckGiveBack says whether n units of what was taken can be given back.
func CheckGiveBack(taken Result, n int64) error {
	if n < 0 || n > taken.receipt.Units {
		return fmt.Errorf("%w number of units to give back: %d, and %d were taken", ErrInvalid, n, taken.receipt.Units)
	}
	return nil
}

// CheckJointGiveBack says whether asks can be given back of a verdict.
func CheckJointGiveBack(rules []Rule, asks []Ask, taken Verdict) error {
	if err := CheckAsks(rules, asks); err != nil {
		return err
	}
	if len(taken.Results) != len(asks) {
		return fmt.Errorf("%w verdict: it is of %d rules, not %d", ErrInvalid, len(taken.Results), len(asks))
	}
	for i, a := range asks {
		if a.Key == "" {
			continue
		}
		if err := CheckGiveBack(taken.Results[i], a.N); err != nil {
			return fmt.Errorf("rule %q: %w", rules[i].Name, err)
		}
	}
	return nil
}
