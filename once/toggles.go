package once

import (
	"context"
	"errors"
	"fmt"
)

// Toggles are switches that end in the last intent: follow and unfollow, like and
// unlike, subscribe and unsubscribe. Make one with NewToggles; it is safe for use
// by many goroutines.
//
// Each intent carries a number that grows with the intents of one member: a
// counter of the client, or its clock in microseconds. The greatest number
// wins, whatever the order in which they arrive and however often. What was
// switched off is remembered, too, and for ever: an older intent may still be
// on its way. (A last-writer-wins register: Shapiro et al., "A comprehensive
// study of Convergent and Commutative Replicated Data Types", 2011, 3.2.1.)
type Toggles struct{ store ToggleStore }

// NewToggles returns the toggles of a store.
func NewToggles(s ToggleStore) (*Toggles, error) {
	if s == nil {
		return nil, errors.New("once: a store is missing")
	}
	return &Toggles{store: s}, nil
}

// Intent is what somebody wants: on or off, and the number of this wish.
type Intent struct {
	Member string
	On     bool
	Seq    int64 // from 1; greater than that of every earlier intent of this member
}

// Verdict says what became of an intent.
type Verdict int

// The verdicts.
const (
	Unasked  Verdict = iota // the standing was read only
	Applied                 // it is the member's latest intent now
	Repeated                // it was that already: a repeated delivery
	Late                    // a later intent has been here; this one changes nothing
	Conflict                // another intent with the same number, and the opposite wish, has been here
)

// String names a verdict.
func (v Verdict) String() string {
	return [...]string{"unasked", "applied", "repeated", "late", "conflict"}[v]
}

// Standing is how a member stands, after an intent or when it was read.
type Standing struct {
	Verdict Verdict
	On      bool
	Seq     int64 // of the intent that decided it; 0: there was none
	Changed bool  // the intent has switched it: tell the friends, once
}

// Judge applies an intent to a standing: the rule that every store follows.
func (s Standing) Judge(i Intent) Standing {
	next := Standing{On: s.On, Seq: s.Seq}
	switch {
	case i.Seq > s.Seq:
		next = Standing{Verdict: Applied, On: i.On, Seq: i.Seq, Changed: i.On != s.On}
	case i.Seq < s.Seq:
		next.Verdict = Late
	case i.On != s.On:
		next.Verdict = Conflict
	default:
		next.Verdict = Repeated
	}
	return next
}

// Apply carries out an intent, unless a later one was here, and returns how the
// member stands now. It can be called again whatever happened. Changed is true for exactly
// one delivery of an intent that switches; if that answer is lost, nobody hears of it.
func (t *Toggles) Apply(ctx context.Context, set string, i Intent) (Standing, error) {
	if err := checkMembers(set, []string{i.Member}); err != nil {
		return Standing{}, err
	}
	if i.Seq < 1 {
		return Standing{}, fmt.Errorf("%w: an intent has the number %d; they begin at 1", ErrName, i.Seq)
	}
	return t.store.Apply(ctx, set, i)
}

// Standing returns how a member stands.
func (t *Toggles) Standing(ctx context.Context, set, member string) (Standing, error) {
	if err := checkMembers(set, []string{member}); err != nil {
		return Standing{}, err
	}
	return t.store.Standing(ctx, set, member)
}

// Count counts the members that are on: the followers. It is exact.
func (t *Toggles) Count(ctx context.Context, set string) (int64, error) {
	if err := CheckName("set", set); err != nil {
		return 0, err
	}
	return t.store.On(ctx, set)
}
