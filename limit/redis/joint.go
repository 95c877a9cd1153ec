package redis

import (
	"context"
	"fmt"

	"github.com/redis/rueidis"

	"rushgate/limit"
)

// Joint is a limit.Joint in Redis: one script decides all rules.
type Joint struct {
	server
	rules []rule
}

// NewJoint makes a Joint on a client, which stays the caller's. The options must
// name a slot. A Limiter of one of the rules, with the same options, shares its
// keys.
func NewJoint(client rueidis.Client, given []limit.Rule, options Options) (*Joint, error) {
	if options.Slot == "" {
		return nil, fmt.Errorf("%w Slot: rules that are decided together need one, so that a cluster keeps their keys on one server", limit.ErrInvalid)
	}
	rules, s, err := prepare(client, decideLua, given, &options)
	if err != nil {
		return nil, err
	}
	return &Joint{server: s, rules: rules}, nil
}

// Rules returns the rules.
func (j *Joint) Rules() []limit.Rule { return plainRules(j.rules) }

func plainRules(rules []rule) []limit.Rule {
	out := make([]limit.Rule, len(rules))
	for i := range rules {
		out[i] = rules[i].Rule
	}
	return out
}

// Take asks every rule: see limit.Joint.
func (j *Joint) Take(ctx context.Context, asks []limit.Ask) (limit.Verdict, error) {
	return j.decide(ctx, actTake, asks)
}

// Peek answers what Take would: see limit.Joint.
func (j *Joint) Peek(ctx context.Context, asks []limit.Ask) (limit.Verdict, error) {
	return j.decide(ctx, actLook, asks)
}

func (j *Joint) decide(ctx context.Context, action string, asks []limit.Ask) (limit.Verdict, error) {
	if err := limit.CheckAsks(plainRules(j.rules), asks); err != nil {
		return limit.Verdict{}, err
	}
	c := j.call(action, asks, func(i int) []string { return j.rules[i].args(asks[i].N) })
	results := make([]limit.Result, len(asks))
	for i := range results {
		results[i].Granted = true
	}
	if len(c.rules) == 0 {
		return limit.NewVerdict(results), nil
	}
	a, err := j.run(ctx, c.keys, c.args)
	if err != nil {
		return limit.Verdict{}, err
	}
	all := true
	for k := range c.rules {
		all = all && a.granted(k)
	}
	for k, i := range c.rules {
		p, n := j.rules[i].Policy, asks[i].N
		if all && action == actTake {
			results[i] = p.Taken(a.now(), n, a.standing(k))
		} else {
			results[i] = p.Answer(a.granted(k), a.now(), n, a.standing(k))
		}
	}
	return limit.NewVerdict(results), nil
}

// GiveBack undoes a Take: see limit.Joint.
func (j *Joint) GiveBack(ctx context.Context, asks []limit.Ask, taken limit.Verdict) error {
	if err := limit.CheckJointGiveBack(plainRules(j.rules), asks, taken); err != nil {
		return err
	}
	c := j.call(actGive, asks, func(i int) []string { return j.rules[i].give(asks[i].N, taken.Results[i]) })
	if len(c.rules) == 0 {
		return nil
	}
	_, err := j.run(ctx, c.keys, c.args)
	return err
}

// call is what the script is sent.
type call struct {
	rules      []int // that are asked
	keys, args []string
}

func (j *Joint) call(action string, asks []limit.Ask, args func(i int) []string) call {
	c := call{args: make([]string, 2, 2+6*len(asks))}
	kinds := make([]byte, 0, len(asks))
	for i, a := range asks {
		if a.Key == "" {
			continue
		}
		c.rules = append(c.rules, i)
		c.keys = append(c.keys, j.rules[i].key(a.Key))
		c.args = append(c.args, args(i)...)
		kinds = append(kinds, byte(j.rules[i].Policy.Kind()))
	}
	c.args[0], c.args[1] = action, string(kinds)
	return c
}
