package limittest

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"rushgate/limit"
)

// policies draws a policy of any kind, with numbers at which things happen.
func policies() *rapid.Generator[limit.Policy] {
	return rapid.Custom(func(t *rapid.T) limit.Policy {
		n := rapid.Int64Range(1, 12).Draw(t, "limit")
		window := rapid.SampledFrom([]time.Duration{time.Millisecond, 1003 * time.Microsecond, time.Second, time.Minute}).Draw(t, "window")
		switch rapid.IntRange(0, 5).Draw(t, "kind") {
		case 0:
			per := rapid.SampledFrom([]time.Duration{time.Microsecond, 1001 * time.Nanosecond, 7 * time.Millisecond, time.Second}).Draw(t, "per")
			return limit.GCRA(limit.Per(rapid.Int64Range(1, 9).Draw(t, "rate"), per), n)
		case 1:
			return limit.FixedWindow(n, window)
		case 2:
			return limit.AlignedWindow(n, window)
		case 3:
			return limit.SlidingCounter(n, window)
		case 4:
			return limit.SlidingWindow(n, window)
		}
		return limit.SlidingWindowGrain(n, window, window/rapid.SampledFrom([]time.Duration{1, 2, 5}).Draw(t, "grains")/1000*1000)
	})
}

// steps draws how far a clock goes: not at all, a little, by what one unit takes,
// to where something ends, and anywhere else.
func steps(p limit.Policy) *rapid.Generator[int64] {
	width := p.Window().Microseconds()
	return rapid.OneOf(
		rapid.SampledFrom([]int64{0, 0, 1, width / p.Limit(), width/p.Limit() + 1, max(width-1, 0), width, width + 1, 2 * width}),
		rapid.Int64Range(0, width/2+1), rapid.Int64Range(0, 3*width))
}

// units draws how many units are taken: mostly few.
func units(p limit.Policy) *rapid.Generator[int64] {
	return rapid.OneOf(rapid.Just(int64(1)), rapid.Int64Range(0, min(3, p.Limit())), rapid.Int64Range(0, p.Limit()))
}

// same compares all that a Result tells.
func same(t T, what string, got, want limit.Result) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(limit.Result{})); diff != "" {
		t.Fatalf("%s (-want +got):\n%s", what, diff)
	}
}

// model plays random histories on a store and on the oracle.
func model(t *testing.T, f Factory) {
	keys := newKeys(t)
	rapid.Check(t, func(rt *rapid.T) {
		policy, clock := policies().Draw(rt, "policy"), NewClock()
		play(rt, f.New(t, policy, clock), clock, policy, keys.next())
	})
}

func play(t *rapid.T, l limit.Limiter, clock *Clock, policy limit.Policy, key string) {
	o := &oracle{policy: policy}
	for range rapid.IntRange(1, 40).Draw(t, "takes") {
		clock.Move(min(steps(policy).Draw(t, "later"), start+century-clock.Micros()))
		n, now := units(policy).Draw(t, "n"), clock.Micros()
		got, err := l.Peek(background(), key, n)
		same(t, "peek", must(t, got, err), o.expect(now, n, false))
		got, err = l.Take(background(), key, n)
		same(t, "take", must(t, got, err), o.expect(now, n, true))
		if got.Granted && n > 0 {
			o.grants = append(o.grants, grant{now, n})
		}
	}
}

// century is how long a history lasts at most.
const century = 100 * 365 * 24 * 3600 * 1_000_000

// extremes plays histories at absurd rates.
func extremes(t *testing.T, f Factory) {
	const year = 365 * 24 * time.Hour
	for _, policy := range []limit.Policy{
		limit.GCRA(limit.Per(1, year), 1), limit.GCRA(limit.Per(1, year), 100), limit.GCRA(limit.Per(3, 10*year), 29),
		limit.GCRA(limit.PerSecond(1e9), 1), limit.GCRA(limit.PerSecond(1e9), 1e9), limit.GCRA(limit.PerSecond(999_999_937), 1e12),
		limit.GCRA(limit.Per(1e12, time.Microsecond), 1e12), limit.GCRA(limit.Per(999_999_999_989, 10*year), 999_999_999_989),
		limit.FixedWindow(1, 10*year), limit.FixedWindow(1e12, time.Millisecond), limit.AlignedWindow(1e12, year),
		limit.SlidingCounter(1e12, 10*year), limit.SlidingCounter(999_999_999_989, 7*year+time.Microsecond), limit.SlidingWindow(1e12, 10*year),
	} {
		t.Run(policy.String(), func(t *testing.T) {
			keys := newKeys(t)
			rapid.Check(t, func(rt *rapid.T) {
				clock := NewClock()
				play(rt, f.New(t, policy, clock), clock, policy, keys.next())
			})
		})
	}
}
