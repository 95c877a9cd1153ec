package limittest

import (
	"testing"

	"pgregory.net/rapid"

	"rushgate/limit"
)

// Agree plays the same random histories on two stores: takes, peeks, units that
// are given back, and a clock that goes where it wants. They answer the same.
func Agree(t *testing.T, f, g Factory) {
	keys := newKeys(t)
	rapid.Check(t, func(rt *rapid.T) {
		policy, clock := policies().Draw(rt, "policy"), NewClock()
		one, other, key := f.New(t, policy, clock), g.New(t, policy, clock), keys.next()
		var taken [2][]limit.Result
		for range rapid.IntRange(1, 60).Draw(rt, "steps") {
			later := steps(policy).Draw(rt, "later")
			if rapid.IntRange(0, 6).Draw(rt, "back?") == 0 {
				later = -later
			}
			clock.Move(later)
			n := units(policy).Draw(rt, "n")
			switch {
			case len(taken[0]) > 0 && rapid.IntRange(0, 3).Draw(rt, "give back?") == 0:
				i := rapid.IntRange(max(0, len(taken[0])-6), len(taken[0])-1).Draw(rt, "which")
				n = rapid.Int64Range(0, taken[0][i].Receipt().Units).Draw(rt, "of it")
				a, err := one.GiveBack(background(), key, taken[0][i], n)
				must(rt, a, err)
				b, err := other.GiveBack(background(), key, taken[1][i], n)
				same(rt, "given back", must(rt, b, err), a)
			case rapid.IntRange(0, 4).Draw(rt, "peek?") == 0:
				same(rt, "peek", peek(rt, other, key, n), peek(rt, one, key, n))
			default:
				a, b := take(rt, one, key, n), take(rt, other, key, n)
				same(rt, "take", b, a)
				taken[0], taken[1] = append(taken[0], a), append(taken[1], b)
			}
		}
	})
}
