package limittest

import (
	"errors"
	"strings"
	"testing"
	"time"

	"rushgate/limit"
)

// kinds are one policy of each kind with a limit, none of which gives anything
// back while a test runs.
func kinds(n int64) []limit.Policy {
	const day = 24 * time.Hour
	return []limit.Policy{
		limit.GCRA(limit.Per(1, 30*day), n), limit.FixedWindow(n, 30*day), limit.AlignedWindow(n, 3650*day),
		limit.SlidingCounter(n, 3650*day), limit.SlidingWindow(n, 30*day), limit.SlidingWindowGrain(n, 30*day, day),
	}
}

// forget lets keys begin anew, and no others.
func forget(t *testing.T, f Factory) {
	keys := newKeys(t)
	for _, policy := range kinds(2) {
		l, one, other := f.New(t, policy, nil), keys.next(), keys.next()
		take(t, l, one, 2)
		take(t, l, other, 2)
		if err := l.Forget(background(), one); err != nil {
			t.Fatal(err)
		}
		if r := take(t, l, one, 2); !r.Granted || r.Remaining != 0 {
			t.Errorf("%s: forgotten, and %+v", policy, r)
		}
		if r := take(t, l, other, 1); r.Granted {
			t.Errorf("%s: another key was forgotten: %+v", policy, r)
		}
	}
}

// refusals are what no store takes.
func refusals(t *testing.T, f Factory) {
	for _, policy := range kinds(5) {
		l := f.New(t, policy, nil)
		if got := l.Policy(); got != policy {
			t.Errorf("the policy is %s, not %s", got, policy)
		}
		for _, c := range []struct {
			key  string
			n    int64
			want error
		}{
			{"", 1, limit.ErrInvalid},
			{strings.Repeat("k", limit.MaxKey+1), 1, limit.ErrInvalid},
			{"k", -1, limit.ErrInvalid},
			{"k", 6, limit.ErrTooLarge},
			{"k", 1 << 62, limit.ErrTooLarge},
			{strings.Repeat("}{ \x00é", 64), 5, nil},
		} {
			for name, call := range map[string]func() (limit.Result, error){
				"take": func() (limit.Result, error) { return l.Take(background(), c.key, c.n) },
				"peek": func() (limit.Result, error) { return l.Peek(background(), c.key, c.n) },
			} {
				if _, err := call(); !errors.Is(err, c.want) {
					t.Errorf("%s: %s of %d for %.10q: %v, want %v", policy, name, c.n, c.key, err, c.want)
				}
			}
		}
		if err := l.Forget(background(), ""); !errors.Is(err, limit.ErrInvalid) {
			t.Errorf("forget of no key: %v", err)
		}
	}
}
