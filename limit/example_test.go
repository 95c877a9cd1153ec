package limit_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"rushgate/limit"
)

// clock stands still until it is moved, for output that is the same every time.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

func newClock() *clock { return &clock{time.Date(2026, 11, 11, 0, 0, 0, 0, time.UTC)} }

func Example() {
	ctx, clock := context.Background(), newClock()
	logins, err := limit.NewMemory(limit.GCRA(limit.PerMinute(5), 2), limit.MemoryOptions{Clock: clock.now})
	if err != nil {
		panic(err)
	}
	for range 3 {
		r, err := logins.Take(ctx, "ann", 1)
		if err != nil {
			panic(err)
		}
		fmt.Println(r.Granted, r.Remaining, r.RetryAfter)
	}
	clock.at = clock.at.Add(12 * time.Second)
	r, _ := logins.Take(ctx, "ann", 1)
	fmt.Println(r.Granted, r.Remaining, r.Reset)
	// Output:
	// true 1 0s
	// true 0 0s
	// false 0 12s
	// true 0 24s
}

// A reservation whose cost is known only afterwards.
func ExampleLimiter_GiveBack() {
	ctx, clock := context.Background(), newClock()
	tokens, _ := limit.NewMemory(limit.AlignedWindow(100_000, 24*time.Hour), limit.MemoryOptions{Clock: clock.now})
	reserved, _ := tokens.Take(ctx, "team-7", 4000)
	fmt.Println(reserved.Remaining)
	r, _ := tokens.GiveBack(ctx, "team-7", reserved, 4000-1234)
	fmt.Println(r.Remaining)
	// Output:
	// 96000
	// 98766
}

// Per user and for all, decided together: a user who is refused costs the others
// nothing.
func ExampleJoint() {
	ctx, clock := context.Background(), newClock()
	rules, _ := limit.NewMemoryJoint([]limit.Rule{
		{Name: "user", Policy: limit.SlidingWindow(2, time.Minute)},
		{Name: "all", Policy: limit.GCRA(limit.PerSecond(100), 1000)},
	}, limit.MemoryOptions{Clock: clock.now})
	var v limit.Verdict
	for range 3 {
		v, _ = rules.Take(ctx, []limit.Ask{{Key: "ann", N: 1}, {Key: "all", N: 1}})
	}
	fmt.Println(v.Granted, v.RetryAfter)
	fmt.Println(v.Results[0].Granted, v.Results[1].Granted, v.Results[1].Remaining)
	// Output:
	// false 1m0s
	// false true 998
}

// A take that can never be granted is an error, not a refusal.
func ExampleErrTooLarge() {
	uploads, _ := limit.NewMemory(limit.FixedWindow(10, time.Hour), limit.MemoryOptions{})
	_, err := uploads.Take(context.Background(), "ann", 11)
	fmt.Println(errors.Is(err, limit.ErrTooLarge), err)
	// Output:
	// true limit: more than the limit ever allows: 11 units of 10 per window of 1h0m0s
}
