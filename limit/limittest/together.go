package limittest

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"rushgate/limit"
)

// joint plays random histories on several rules, each with an oracle of its own:
// all or none.
func joint(t *testing.T, f Factory) {
	keys := newKeys(t)
	rapid.Check(t, func(rt *rapid.T) {
		clock := NewClock()
		rules := []limit.Rule{{Name: "a"}, {Name: "b"}, {Name: "c"}}[:rapid.IntRange(1, 3).Draw(rt, "rules")]
		oracles, names := make([]map[string]*oracle, len(rules)), []string{"", keys.next(), keys.next()}
		for i := range rules {
			rules[i].Policy = policies().Draw(rt, "policy")
			oracles[i] = map[string]*oracle{}
			for _, key := range names {
				oracles[i][key] = &oracle{policy: rules[i].Policy}
			}
		}
		j := f.NewJoint(t, rules, clock)
		for range rapid.IntRange(1, 25).Draw(rt, "takes") {
			clock.Move(steps(rules[0].Policy).Draw(rt, "later"))
			asks, asked := make([]limit.Ask, len(rules)), make([]*oracle, len(rules))
			for i := range asks {
				asks[i] = limit.Ask{Key: rapid.SampledFrom(names).Draw(rt, "key"), N: units(rules[i].Policy).Draw(rt, "n")}
				asked[i] = oracles[i][asks[i].Key]
			}
			playJoint(rt, j, clock.Micros(), asks, asked)
		}
	})
	rejects(t, f)
}

func playJoint(t *rapid.T, j limit.Joint, now int64, asks []limit.Ask, asked []*oracle) {
	want := limit.Verdict{Granted: true, Results: make([]limit.Result, len(asks))}
	for i, a := range asks {
		if a.Key != "" && a.N > 0 && !asked[i].allows(now, a.N) {
			want.Granted = false
		}
	}
	for i, a := range asks {
		want.Results[i].Granted = true
		if a.Key == "" {
			continue
		}
		want.Results[i] = asked[i].expect(now, a.N, want.Granted)
		want.RetryAfter = max(want.RetryAfter, want.Results[i].RetryAfter)
		if want.Granted && a.N > 0 {
			asked[i].grants = append(asked[i].grants, grant{now, a.N})
		}
	}
	peeked, err := j.Peek(background(), asks)
	if must(t, peeked, err).Granted != want.Granted || peeked.RetryAfter != want.RetryAfter {
		t.Fatalf("peek: %+v, want %+v", peeked, want)
	}
	got, err := j.Take(background(), asks)
	if diff := cmp.Diff(want, must(t, got, err), cmpopts.IgnoreUnexported(limit.Result{})); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
}

// rejects are asks that no store takes.
func rejects(t *testing.T, f Factory) {
	j := f.NewJoint(t, two(5, 7), nil)
	for _, c := range []struct {
		asks []limit.Ask
		want error
	}{
		{nil, limit.ErrInvalid},
		{[]limit.Ask{{Key: "k", N: 1}}, limit.ErrInvalid},
		{[]limit.Ask{{Key: "k", N: 1}, {Key: "k", N: -1}}, limit.ErrInvalid},
		{[]limit.Ask{{Key: "k", N: 6}, {Key: "k", N: 6}}, limit.ErrTooLarge},
	} {
		if _, err := j.Take(background(), c.asks); !errors.Is(err, c.want) {
			t.Errorf("%v: %v, want %v", c.asks, err, c.want)
		}
	}
	// Of two that refuse, the longer wait counts, whichever rule it is of.
	for name, rules := range map[string][]limit.Rule{
		"the first":  {{Name: "c", Policy: limit.FixedWindow(1, 2*time.Hour)}, {Name: "d", Policy: limit.FixedWindow(1, time.Hour)}},
		"the second": {{Name: "d", Policy: limit.FixedWindow(1, time.Hour)}, {Name: "c", Policy: limit.FixedWindow(1, 2*time.Hour)}},
	} {
		j, keys := f.NewJoint(t, rules, NewClock()), newKeys(t)
		asks := []limit.Ask{{Key: name + keys.next(), N: 1}, {Key: name + keys.next(), N: 1}}
		first, err := j.Take(background(), asks)
		if !must(t, first, err).Granted {
			t.Errorf("%+v", first)
		}
		second, err := j.Take(background(), asks)
		if must(t, second, err).RetryAfter != 2*time.Hour {
			t.Errorf("%s waits longer: %+v", name, second)
		}
	}
	if v, err := j.Take(background(), []limit.Ask{{}, {}}); err != nil || !v.Granted {
		t.Errorf("no rule asked: %+v, %v", v, err)
	}
}

func two(a, b int64) []limit.Rule {
	return []limit.Rule{{Name: "a", Policy: limit.FixedWindow(a, time.Hour)}, {Name: "b", Policy: limit.GCRA(limit.Per(1, 1000*time.Hour), b)}}
}

// jointStorm lets many ask for two rules at the same time, of which one key is
// shared and the others are narrower: none takes for nothing.
func jointStorm(t *testing.T, f Factory) {
	keys := newKeys(t)
	j := f.NewJoint(t, two(10, 35), nil)
	users, all := []string{keys.next(), keys.next(), keys.next(), keys.next(), keys.next()}, keys.next()
	granted := make([]atomic.Int64, len(users))
	together(func() {
		for i := range calls * 2 {
			u := i % len(users)
			if v, err := j.Take(background(), []limit.Ask{{Key: users[u], N: 1}, {Key: all, N: 1}}); err != nil {
				t.Error(err)
			} else if v.Granted {
				granted[u].Add(1)
			}
		}
	})
	var sum int64
	for u := range users {
		n := granted[u].Load()
		sum += n
		v, err := j.Peek(background(), []limit.Ask{{Key: users[u], N: 0}, {}})
		if left := must(t, v, err).Results[0].Remaining; left != 10-n {
			t.Errorf("user %d was granted %d of 10, and %d are left", u, n, left)
		}
	}
	if sum != 35 {
		t.Errorf("%d granted together, want 35", sum)
	}
}

// jointGiveBack undoes a take of all rules.
func jointGiveBack(t *testing.T, f Factory) {
	keys := newKeys(t)
	j := f.NewJoint(t, two(5, 7), NewClock())
	asks := []limit.Ask{{Key: keys.next(), N: 4}, {Key: keys.next(), N: 5}}
	v, err := j.Take(background(), asks)
	if err := j.GiveBack(background(), []limit.Ask{{Key: asks[0].Key, N: 3}, {Key: asks[1].Key, N: 5}}, must(t, v, err)); err != nil {
		t.Fatal(err)
	}
	v, err = j.Peek(background(), []limit.Ask{{Key: asks[0].Key}, {Key: asks[1].Key}})
	if a, b := must(t, v, err).Results[0].Remaining, v.Results[1].Remaining; a != 4 || b != 7 {
		t.Errorf("%d and %d are left, want 4 and 7", a, b)
	}
	if err := j.GiveBack(background(), asks, v); !errors.Is(err, limit.ErrInvalid) {
		t.Errorf("given back what was never taken: %v", err)
	}
}
