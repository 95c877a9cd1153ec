package limittest

import (
	"errors"
	"testing"
	"time"

	"pgregory.net/rapid"

	"rushgate/limit"
)

// giveBack plays histories in which units are given back, at once or late, in
// any order and in parts. What is kept stays within what the policy promises.
func giveBack(t *testing.T, f Factory) {
	keys := newKeys(t)
	rapid.Check(t, func(rt *rapid.T) {
		policy, clock := policies().Draw(rt, "policy"), NewClock()
		l, key := f.New(t, policy, clock), keys.next()
		var kept []grant
		var taken []limit.Result // of each
		for range rapid.IntRange(1, 40).Draw(rt, "steps") {
			clock.Move(steps(policy).Draw(rt, "later"))
			if len(taken) > 0 && rapid.IntRange(0, 2).Draw(rt, "back?") == 0 {
				i := rapid.IntRange(max(0, len(taken)-6), len(taken)-1).Draw(rt, "which")
				n := rapid.Int64Range(0, kept[i].units).Draw(rt, "of it")
				kept[i].units -= n
				r, err := l.GiveBack(background(), key, taken[i], n)
				must(rt, r, err)
				continue
			}
			n := units(policy).Draw(rt, "n")
			if r := take(rt, l, key, n); r.Granted {
				kept, taken = append(kept, grant{clock.Micros(), n}), append(taken, r)
			}
		}
		within(rt, policy, kept)
	})
}

// giveBackLate gives units back when they have come back by themselves, and
// others have taken them: they are worth nothing.
func giveBackLate(t *testing.T, f Factory) {
	keys := newKeys(t)
	for _, policy := range []limit.Policy{
		limit.GCRA(limit.PerSecond(2), 2), limit.FixedWindow(2, time.Second), limit.AlignedWindow(2, time.Second),
		limit.SlidingCounter(2, time.Second), limit.SlidingWindow(2, time.Second), limit.SlidingWindowGrain(2, time.Second, 100*time.Millisecond),
	} {
		clock := NewClock()
		l, key := f.New(t, policy, clock), keys.next()
		first := take(t, l, key, 2)
		clock.Move(2_000_000)
		if second := take(t, l, key, 2); !first.Granted || !second.Granted {
			t.Errorf("%s: %+v, then %+v", policy, first, second)
		}
		r, err := l.GiveBack(background(), key, first, 2)
		if must(t, r, err).Remaining != 0 {
			t.Errorf("%s: what came back by itself is given back, and worth %d", policy, r.Remaining)
		}
		if r := take(t, l, key, 1); r.Granted {
			t.Errorf("%s: more than without the take: %+v", policy, r)
		}
	}
	// At the very moment at which they come back by themselves.
	policy, clock := limit.SlidingWindow(2, time.Second), NewClock()
	l, key := f.New(t, policy, clock), keys.next()
	first := take(t, l, key, 2)
	clock.Move(1_000_000)
	take(t, l, key, 2)
	r, err := l.GiveBack(background(), key, first, 2)
	if must(t, r, err).Remaining != 0 {
		t.Errorf("%s: given back when it had come back: %+v", policy, r)
	}
}

// giveBackTwice gives the same units back again and again, which nobody should: no
// more is granted than the whole limit, at once and in the next window.
func giveBackTwice(t *testing.T, f Factory) {
	keys := newKeys(t)
	for _, policy := range []limit.Policy{
		limit.GCRA(limit.PerSecond(3), 3), limit.FixedWindow(3, time.Second), limit.AlignedWindow(3, time.Second),
		limit.SlidingCounter(3, time.Second), limit.SlidingWindow(3, time.Second), limit.SlidingWindowGrain(3, time.Second, 100*time.Millisecond),
	} {
		for _, later := range []int64{0, 900_000} { // the second, by the calendar, is in the next window
			clock := NewClock()
			l, key := f.New(t, policy, clock), keys.next()
			first := take(t, l, key, 2)
			take(t, l, key, 1)
			clock.Move(later)
			for range 3 {
				r, err := l.GiveBack(background(), key, first, 2)
				if must(t, r, err).Remaining > 3 {
					t.Errorf("%s: given back too often, and %d are left of 3", policy, r.Remaining)
				}
			}
			n := 0
			for take(t, l, key, 1).Granted {
				n++
			}
			if n > 3 {
				t.Errorf("%s: given back too often, and %d are granted of 3", policy, n)
			}
		}
	}
}

// giveBackAtOnce undoes a take before any time has passed: as much can be taken
// as before it.
func giveBackAtOnce(t *testing.T, f Factory) {
	keys := newKeys(t)
	rapid.Check(t, func(rt *rapid.T) {
		policy, clock := policies().Draw(rt, "policy"), NewClock()
		l, key := f.New(t, policy, clock), keys.next()
		for range rapid.IntRange(0, 10).Draw(rt, "takes") {
			take(rt, l, key, units(policy).Draw(rt, "n"))
			clock.Move(steps(policy).Draw(rt, "later"))
		}
		before := peek(rt, l, key, 0)
		n := rapid.Int64Range(0, before.Remaining).Draw(rt, "undone")
		after, err := l.GiveBack(background(), key, take(rt, l, key, n), n)
		if must(rt, after, err).Remaining != before.Remaining {
			rt.Fatalf("%s: %d left, %d taken and given back, %d left", policy, before.Remaining, n, after.Remaining)
		}
		if policy.Kind() != limit.KindLog { // which forgets its oldest units instead
			same(rt, policy.String(), after, before)
		}
	})
	l := f.New(t, limit.FixedWindow(3, time.Hour), nil)
	r := take(t, l, keys.next(), 2)
	for _, n := range []int64{-1, 3} {
		if _, err := l.GiveBack(background(), keys.next(), r, n); !errors.Is(err, limit.ErrInvalid) {
			t.Errorf("%d of 2 given back: %v", n, err)
		}
	}
	key := keys.next()
	take(t, l, key, 2)
	if refused := take(t, l, key, 2); refused.Granted {
		t.Errorf("4 of 3: %+v", refused)
	} else if _, err := l.GiveBack(background(), key, refused, 2); !errors.Is(err, limit.ErrInvalid) {
		t.Errorf("given back what was refused: %v", err)
	}
	if _, err := l.GiveBack(background(), keys.next(), peek(t, l, keys.next(), 1), 1); !errors.Is(err, limit.ErrInvalid) {
		t.Errorf("given back what was never taken: %v", err)
	}
}
