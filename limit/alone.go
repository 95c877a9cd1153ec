package limit

import (
	"context"
	"fmt"
)

// Alone makes a Joint of one Limiter, for what takes a Joint. The name must be
// one that CheckName takes.
func Alone(name string, limiter Limiter) (Joint, error) {
	if err := CheckName(name); err != nil {
		return nil, err
	}
	if limiter == nil {
		return nil, fmt.Errorf("%w limiter: there is none", ErrInvalid)
	}
	return &alone{limiter: limiter, rules: []Rule{{Name: name, Policy: limiter.Policy()}}}, nil
}

type alone struct {
	limiter Limiter
	rules   []Rule
}

func (a *alone) Rules() []Rule { return []Rule{a.rules[0]} }

func (a *alone) Take(ctx context.Context, asks []Ask) (Verdict, error) {
	return a.ask(ctx, asks, a.limiter.Take)
}

func (a *alone) Peek(ctx context.Context, asks []Ask) (Verdict, error) {
	return a.ask(ctx, asks, a.limiter.Peek)
}

func (a *alone) ask(ctx context.Context, asks []Ask, of func(context.Context, string, int64) (Result, error)) (Verdict, error) {
	if err := CheckAsks(a.rules, asks); err != nil {
		return Verdict{}, err
	}
	if asks[0].Key == "" {
		return verdict([]Result{{Granted: true}}), nil
	}
	r, err := of(ctx, asks[0].Key, asks[0].N)
	if err != nil {
		return Verdict{}, err
	}
	return verdict([]Result{r}), nil
}

func (a *alone) GiveBack(ctx context.Context, asks []Ask, taken Verdict) error {
	if err := CheckJointGiveBack(a.rules, asks, taken); err != nil || asks[0].Key == "" {
		return err
	}
	_, err := a.limiter.GiveBack(ctx, asks[0].Key, taken.Results[0], asks[0].N)
	return err
}
