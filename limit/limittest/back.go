package limittest

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"rushgate/limit"
)

// within says that grants, by a clock that never went wrong, keep within what a
// policy promises for any time whatever happens.
func within(t T, p limit.Policy, grants []grant) {
	t.Helper()
	width := p.Window().Microseconds()
	for i := range grants {
		if p.Kind() == limit.KindGCRA {
			if !withinBucket(p, grants[:i+1]) {
				t.Fatalf("%s: more than burst + rate·t: %v", p, grants[:i+1])
			}
			continue
		}
		sum, bound := int64(0), p.Limit()
		if p.Kind() != limit.KindLog {
			bound *= 2
		}
		for _, g := range grants[:i+1] {
			if g.at > grants[i].at-width {
				sum += g.units
			}
		}
		if sum > bound {
			t.Fatalf("%s: %d in one window, and at most %d are promised: %v", p, sum, bound, grants[:i+1])
		}
	}
}

// goesBack plays histories in which the store's clock goes back, by little and
// by years. By true time no more is granted than ever, and nobody waits longer
// than three windows.
func goesBack(t *testing.T, f Factory) {
	keys := newKeys(t)
	rapid.Check(t, func(rt *rapid.T) {
		policy, clock := policies().Draw(rt, "policy"), NewClock()
		l, key := f.New(t, policy, clock), keys.next()
		back := rapid.OneOf(steps(policy), rapid.Int64Range(0, 400*24*3600*1e6))
		var truth int64
		var grants []grant
		for range rapid.IntRange(1, 40).Draw(rt, "takes") {
			if rapid.IntRange(0, 3).Draw(rt, "back?") == 0 {
				clock.Move(-back.Draw(rt, "back"))
			}
			later := steps(policy).Draw(rt, "later")
			clock.Move(later)
			truth += later
			n := units(policy).Draw(rt, "n")
			r := take(rt, l, key, n)
			if r.Granted && n > 0 {
				grants = append(grants, grant{truth, n})
			}
			if most := 3 * policy.Window(); r.RetryAfter > most || r.Reset > most {
				rt.Fatalf("%s: %+v, and three windows are %s", policy, r, most)
			}
			if !r.Granted && rapid.Bool().Draw(rt, "wait?") {
				clock.Move(r.RetryAfter.Microseconds())
				truth += r.RetryAfter.Microseconds()
				if r := take(rt, l, key, n); !r.Granted {
					rt.Fatalf("%s: %d units after the wait that was asked for: %+v", policy, n, r)
				}
				grants = append(grants, grant{truth, n})
			}
		}
		within(rt, policy, grants)
	})
}

func take(t T, l limit.Limiter, key string, n int64) limit.Result {
	t.Helper()
	r, err := l.Take(background(), key, n)
	return must(t, r, err)
}

func peek(t T, l limit.Limiter, key string, n int64) limit.Result {
	t.Helper()
	r, err := l.Peek(background(), key, n)
	return must(t, r, err)
}

// Within ends a test if units that were granted at times, in microseconds on the
// store's own clock, are more than a policy promises.
func Within(t T, p limit.Policy, granted []int64) {
	t.Helper()
	slices.Sort(granted)
	width, first, sum := p.Window().Microseconds(), 0, int64(0)
	grants := make([]grant, len(granted))
	for i, at := range granted {
		grants[i] = grant{at, 1}
		for granted[first] <= at-width {
			first, sum = first+1, sum-1
		}
		if sum++; p.Kind() != limit.KindGCRA && sum > p.Limit() {
			t.Fatalf("%s: %d in one window that ends at %d", p, sum, at)
		}
	}
	if p.Kind() == limit.KindGCRA && len(grants) > 0 {
		for end := 1; end <= len(grants); end += 1 + len(grants)/200 { // each is a look at all before it
			if !withinBucket(p, grants[:end]) {
				t.Fatalf("%s: more than burst + rate·t, up to %d", p, grants[end-1].at)
			}
		}
	}
}
