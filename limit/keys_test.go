package limit_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"rushgate/limit"
	"rushgate/limit/limittest"
)

// TestForgettingGrantsNothing compares a store that has room for a few keys with
// a store for each key, which forgets nothing: what the small one answers is the
// same, or ErrFull.
func TestForgettingGrantsNothing(t *testing.T) {
	for name, p := range map[string]limit.Policy{
		"bucket": limit.GCRA(limit.PerSecond(3), 4), "fixed": limit.FixedWindow(2, time.Second), "aligned": limit.AlignedWindow(2, time.Second),
		"counter": limit.SlidingCounter(3, time.Second), "log": limit.SlidingWindow(3, time.Second),
	} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				clock := limittest.NewClock()
				small, own := open(t, p, 5, clock.Now), map[string]*limit.Memory{}
				for range rapid.IntRange(1, 200).Draw(rt, "takes") {
					clock.Move(rapid.SampledFrom([]int64{0, 1, 100_000, 1_000_000}).Draw(rt, "later"))
					key, n := fmt.Sprint(rapid.IntRange(1, 12).Draw(rt, "key")), rapid.Int64Range(0, 2).Draw(rt, "n")
					got, err := small.Take(context.Background(), key, n)
					if errors.Is(err, limit.ErrFull) {
						if small.Len() != 5 {
							rt.Fatalf("full with %d keys of 5", small.Len())
						}
						continue
					}
					if own[key] == nil {
						own[key] = open(t, p, 1, clock.Now)
					}
					want, _ := own[key].Take(context.Background(), key, n)
					if err != nil || got != want {
						rt.Fatalf("%+v, want %+v, %v", got, want, err)
					}
				}
				if small.Len() > 5 {
					rt.Fatalf("%d keys, and 5 are allowed", small.Len())
				}
			})
		})
	}
}

func open(t *testing.T, p limit.Policy, keys int, now func() time.Time) *limit.Memory {
	t.Helper()
	m, err := limit.NewMemory(p, limit.MemoryOptions{MaxKeys: keys, Clock: now})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestIdleKeysAreForgotten: a million keys come and go, a thousand at a time.
func TestIdleKeysAreForgotten(t *testing.T) {
	clock, most := limittest.NewClock(), 0
	m := open(t, limit.GCRA(limit.PerSecond(1), 2), 1<<20, clock.Now)
	for i := range 200_000 {
		if i%1000 == 0 {
			clock.Move(1_000_000)
		}
		if r, err := m.Take(context.Background(), fmt.Sprint("user-", i), 1); err != nil || r.Remaining != 1 {
			t.Fatalf("%+v, %v", r, err)
		}
		most = max(most, m.LenEvery(i))
	}
	if most > 4000 {
		t.Errorf("the store remembered %d keys, of which 1000 were in use", most)
	}
	clock.Move(10_000_000)
	m.Sweep()
	if n := m.Len(); n != 0 {
		t.Errorf("%d keys are left after a sweep", n)
	}
}

// TestTheMonotonicClock: without a clock of the caller's, time is the process's.
func TestTheMonotonicClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := open(t, limit.SlidingWindow(2, time.Second), 10, nil)
		at := time.Now()
		for range 2 {
			if r, err := m.Take(t.Context(), "k", 1); err != nil || !r.Granted {
				t.Fatalf("%+v, %v", r, err)
			}
		}
		r, err := m.Take(t.Context(), "k", 1)
		if err != nil || r.Granted || r.RetryAfter != time.Second {
			t.Fatalf("%+v, %v", r, err)
		}
		<-time.After(r.RetryAfter)
		if r, err = m.Take(t.Context(), "k", 2); err != nil || !r.Granted || r.Receipt().At != at.Add(time.Second).UnixMicro() {
			t.Fatalf("%+v at %d, %v", r, r.Receipt().At, err)
		}
	})
}

// TestNeverMoreInAnyWindow lets many take as fast as they can by true time, and
// looks at all windows of what they got.
func TestNeverMoreInAnyWindow(t *testing.T) {
	const n, window = 50, 5 * time.Millisecond
	for _, p := range []limit.Policy{limit.SlidingWindow(n, window), limit.SlidingWindowGrain(n, window, window/10), limit.GCRA(limit.Per(n, window), n)} {
		m := open(t, p, 10, nil)
		var mu sync.Mutex
		var granted []int64
		var total atomic.Int64
		var all sync.WaitGroup
		for range 16 {
			all.Go(func() {
				for total.Load() < 2000 {
					r, err := m.Take(context.Background(), "k", 1)
					if err != nil {
						t.Error(err)
						return
					}
					if r.Granted {
						total.Add(1)
						mu.Lock()
						granted = append(granted, r.Receipt().At)
						mu.Unlock()
					}
				}
			})
		}
		all.Wait()
		limittest.Within(t, p, granted)
	}
}

// TestAFloodOfKeys that somebody invents: who is known keeps his limit, to the unit; who
// is new is refused for want of room, and granted as soon as the flood's own takes
// do not count any more, without a sweep.
func TestAFloodOfKeys(t *testing.T) {
	ctx := t.Context()
	for _, p := range []limit.Policy{limit.GCRA(limit.PerMinute(2), 2), limit.FixedWindow(2, 30*time.Second), limit.AlignedWindow(2, 30*time.Second),
		limit.SlidingCounter(2, 15*time.Second), limit.SlidingWindow(2, 30*time.Second)} {
		clock := limittest.NewClock()
		m := open(t, p, 2000, clock.Now)
		if r, err := m.Take(ctx, "ann", 1); err != nil || !r.Granted {
			t.Fatal(r, err)
		}
		full := 0
		for i := range 20_000 {
			clock.Move(10)
			if _, err := m.Take(ctx, fmt.Sprint("invented-", i), 1); errors.Is(err, limit.ErrFull) {
				full++
			}
		}
		if full < 17_000 || m.Len() > 2000 {
			t.Errorf("%s: %d of 20000 are refused for want of room, %d have it", p, full, m.Len())
		}
		for _, granted := range []bool{true, false} {
			if r, err := m.Take(ctx, "ann", 1); err != nil || r.Granted != granted {
				t.Errorf("%s: a key that is known: %+v, %v", p, r, err)
			}
		}
		clock.Move(31_000_000)
		if r, err := m.Take(ctx, "ben", 1); err != nil || !r.Granted {
			t.Errorf("%s: a key that is new, after the flood: %+v, %v", p, r, err)
		}
	}
}

// TestARuleForAllBoundsAFlood: what it refuses adds no key to another rule.
func TestARuleForAllBoundsAFlood(t *testing.T) {
	rules := []limit.Rule{{Name: "all", Policy: limit.FixedWindow(100, time.Hour)}, {Name: "name", Policy: limit.FixedWindow(5, time.Hour)}}
	j, err := limit.NewMemoryJoint(rules, limit.MemoryOptions{MaxKeys: 200})
	if err != nil {
		t.Fatal(err)
	}
	granted := 0
	for i := range 10_000 {
		v, err := j.Take(t.Context(), []limit.Ask{{Key: "all", N: 1}, {Key: fmt.Sprint("invented-", i), N: 1}})
		if err != nil {
			t.Fatal(err)
		}
		if v.Granted {
			granted++
		}
	}
	if n := j.Limiter(1).Len(); granted != 100 || n != 100 {
		t.Errorf("%d granted, %d keys", granted, n)
	}
}

func TestWrongPolicies(t *testing.T) {
	const year = 365 * 24 * time.Hour
	for name, p := range map[string]limit.Policy{
		"none":                {},
		"no units":            limit.FixedWindow(0, time.Second),
		"negative units":      limit.SlidingWindow(-1, time.Second),
		"too many units":      limit.SlidingCounter(limit.MaxUnits+1, time.Second),
		"no window":           limit.AlignedWindow(1, 0),
		"a short window":      limit.FixedWindow(1, time.Microsecond),
		"half a microsecond":  limit.FixedWindow(1, time.Second+1),
		"a long window":       limit.FixedWindow(1, 11*year),
		"no grain":            limit.SlidingWindowGrain(1, time.Second, 0),
		"a grain over all":    limit.SlidingWindowGrain(1, time.Second, 2*time.Second),
		"no rate":             limit.GCRA(limit.Rate{}, 1),
		"a rate of nothing":   limit.GCRA(limit.PerSecond(0), 1),
		"a negative period":   limit.GCRA(limit.Per(1, -time.Second), 1),
		"no burst":            limit.GCRA(limit.PerSecond(1), 0),
		"centuries to refill": limit.GCRA(limit.Per(1, year), 1000),
		"and an overflow":     limit.GCRA(limit.Per(1, 10*year), limit.MaxUnits),
	} {
		if _, err := limit.NewMemory(p, limit.MemoryOptions{}); !errors.Is(err, limit.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, keys := range []int{-1, 1<<30 + 1} {
		if _, err := limit.NewMemory(limit.FixedWindow(1, time.Second), limit.MemoryOptions{MaxKeys: keys}); !errors.Is(err, limit.ErrInvalid) {
			t.Errorf("%d keys: %v", keys, err)
		}
	}
}

// TestARuleWithoutRoom: a Joint whose second rule has no room for a new key has
// taken nothing, and does not say that it has.
func TestARuleWithoutRoom(t *testing.T) {
	rules := []limit.Rule{{Name: "a", Policy: limit.FixedWindow(5, time.Hour)}, {Name: "b", Policy: limit.FixedWindow(5, time.Hour)}}
	j, err := limit.NewMemoryJoint(rules, limit.MemoryOptions{MaxKeys: 1})
	if err != nil {
		t.Fatal(err)
	}
	if v, err := j.Take(t.Context(), []limit.Ask{{Key: "k", N: 1}, {Key: "k", N: 1}}); err != nil || !v.Granted {
		t.Fatalf("%+v, %v", v, err)
	}
	if v, err := j.Take(t.Context(), []limit.Ask{{Key: "k", N: 1}, {Key: "new", N: 1}}); !errors.Is(err, limit.ErrFull) || v.Granted {
		t.Errorf("%+v, %v", v, err)
	}
	if v, err := j.Peek(t.Context(), []limit.Ask{{Key: "k"}, {}}); err != nil || v.Results[0].Remaining != 4 {
		t.Errorf("%+v, %v", v, err)
	}
	// Keys that are known need no room, and nothing of a new one needs none.
	for _, second := range []limit.Ask{{Key: "k", N: 1}, {Key: "new"}} {
		if v, err := j.Take(t.Context(), []limit.Ask{{Key: "k", N: 1}, second}); err != nil || !v.Granted {
			t.Errorf("%+v: %+v, %v", second, v, err)
		}
	}
}

// TestWhatNeedsNoRoom in a store that is full: nothing of a key, and what was given
// back leaves room for others.
func TestWhatNeedsNoRoom(t *testing.T) {
	for _, p := range []limit.Policy{limit.GCRA(limit.PerMinute(2), 2), limit.FixedWindow(2, time.Hour), limit.AlignedWindow(2, time.Hour),
		limit.SlidingWindow(2, time.Hour)} {
		m := open(t, p, 1, limittest.NewClock().Now)
		r, err := m.Take(t.Context(), "ann", 1)
		if err != nil || !r.Granted {
			t.Fatal(r, err)
		}
		if r, err := m.Take(t.Context(), "ben", 0); err != nil || !r.Granted || r.Remaining != 2 {
			t.Errorf("%s: nothing of a new key: %+v, %v", p, r, err)
		}
		if _, err := m.Take(t.Context(), "ben", 1); !errors.Is(err, limit.ErrFull) {
			t.Errorf("%s: %v", p, err)
		}
		if _, err := m.GiveBack(t.Context(), "ann", r, 1); err != nil {
			t.Error(err)
		}
		if r, err := m.Take(t.Context(), "ben", 1); err != nil || !r.Granted {
			t.Errorf("%s: after all was given back: %+v, %v", p, r, err)
		}
	}
}

func TestWrongRules(t *testing.T) {
	rule := limit.Rule{Name: "a", Policy: limit.FixedWindow(1, time.Hour)}
	many := make([]limit.Rule, limit.MaxRules+1)
	for i := range many {
		many[i] = limit.Rule{Name: fmt.Sprint(i), Policy: rule.Policy}
	}
	for name, rules := range map[string][]limit.Rule{"none": nil, "one name for two": {rule, rule}, "too many": many, "no policy": {{Name: "a"}}} {
		if _, err := limit.NewMemoryJoint(rules, limit.MemoryOptions{}); !errors.Is(err, limit.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := limit.NewMemoryJoint(many[1:], limit.MemoryOptions{}); err != nil {
		t.Error(err)
	}
}

// TestNoLimiter: what is missing is said at once, not at the first request.
func TestNoLimiter(t *testing.T) {
	if _, err := limit.Alone("a", nil); !errors.Is(err, limit.ErrInvalid) {
		t.Error(err)
	}
}
