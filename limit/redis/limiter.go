package redis

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/rueidis"

	"rushgate/limit"
)

// Limiter is a limit.Limiter in Redis.
type Limiter struct {
	server
	rules []rule // one
}

// New makes a Limiter on a client, which stays the caller's: the Limiter has
// nothing to close. Limiters of the same rule, prefix and slot share their keys,
// in whatever process they are. ErrInvalid says what is wrong with the rule or
// the options.
func New(client rueidis.Client, r limit.Rule, options Options) (*Limiter, error) {
	rules, s, err := prepare(client, oneLua, []limit.Rule{r}, &options)
	if err != nil {
		return nil, err
	}
	return &Limiter{server: s, rules: rules}, nil
}

func prepare(client rueidis.Client, end string, given []limit.Rule, o *Options) ([]rule, server, error) {
	if client == nil {
		return nil, server{}, fmt.Errorf("%w client: there is none", limit.ErrInvalid)
	}
	if err := errors.Join(limit.ValidateRules(given), o.complete()); err != nil {
		return nil, server{}, err
	}
	rules := make([]rule, len(given))
	for i, r := range given {
		rules[i] = newRule(r, o)
	}
	return rules, server{client: client, script: newScript(timeLua, end, rules), timeout: o.Timeout}, nil
}

// Policy returns the policy.
func (l *Limiter) Policy() limit.Policy { return l.rules[0].Policy }

// Take takes n units for a key: see limit.Limiter.
func (l *Limiter) Take(ctx context.Context, key string, n int64) (limit.Result, error) {
	if n == 0 {
		return l.decide(ctx, actLook, key, 0)
	}
	return l.decide(ctx, actTake, key, n)
}

// Peek answers what Take would: see limit.Limiter.
func (l *Limiter) Peek(ctx context.Context, key string, n int64) (limit.Result, error) {
	return l.decide(ctx, actLook, key, n)
}

func (l *Limiter) decide(ctx context.Context, action, key string, n int64) (limit.Result, error) {
	r := &l.rules[0]
	if err := limit.CheckKey(key); err != nil {
		return limit.Result{}, err
	}
	if err := r.Policy.CheckUnits(n); err != nil {
		return limit.Result{}, err
	}
	args := append(append(make([]string, 0, 8), action, string(r.Policy.Kind())), r.args(n)...)
	a, err := l.run(ctx, []string{r.key(key)}, args)
	switch {
	case err != nil:
		return limit.Result{}, err
	case a.granted(0) && action == actTake:
		return r.Policy.Taken(a.now(), n, a.standing(0)), nil
	}
	return r.Policy.Answer(a.granted(0), a.now(), n, a.standing(0)), nil
}

// GiveBack undoes n units of a Take: see limit.Limiter.
func (l *Limiter) GiveBack(ctx context.Context, key string, taken limit.Result, n int64) (limit.Result, error) {
	r := &l.rules[0]
	if err := errors.Join(limit.CheckKey(key), limit.CheckGiveBack(taken, n)); err != nil {
		return limit.Result{}, err
	}
	if n == 0 {
		return l.decide(ctx, actLook, key, 0)
	}
	args := append([]string{actGive, string(r.Policy.Kind())}, r.give(n, taken)...)
	a, err := l.run(ctx, []string{r.key(key)}, args)
	if err != nil {
		return limit.Result{}, err
	}
	return r.Policy.Answer(true, a.now(), 0, a.standing(0)), nil
}

// give returns what the script is given to give back.
func (r *rule) give(n int64, taken limit.Result) []string {
	receipt := taken.Receipt()
	return append(r.write(n), numbers(receipt.At, receipt.A)...)
}

// Forget lets a key begin anew: see limit.Limiter.
func (l *Limiter) Forget(ctx context.Context, key string) error {
	if err := limit.CheckKey(key); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, l.timeout)
	defer cancel()
	if err := l.client.Do(ctx, l.client.B().Unlink().Key(l.rules[0].key(key)).Build()).Error(); err != nil {
		return fmt.Errorf("%w: Redis: %w", limit.ErrUnavailable, err)
	}
	return nil
}
