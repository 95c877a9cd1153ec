package trial

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"rushgate/lab"
)

// crowded is a crowd at a counter that takes a millisecond for each.
func crowded(plan Plan, buy func(lab.Order) (lab.Answer, error)) *crowd {
	return &crowd{plan: plan, buy: func(ctx context.Context, _ int, o lab.Order) (lab.Answer, error) {
		if !lab.Pause(ctx, time.Millisecond) {
			return 0, ctx.Err()
		}
		return buy(o)
	}}
}

func grants(lab.Order) (lab.Answer, error)  { return lab.Granted, nil }
func refuses(lab.Order) (lab.Answer, error) { return lab.SoldOut, nil }

// TestEveryTenthClicksTwice, and everybody is served, once.
func TestEveryTenthClicksTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := crowded(Plan{Stock: 100, Buyers: 30, Connections: 4, Duration: time.Minute}, grants)
		all, err := c.rush(t.Context())
		ids, users := map[string]bool{}, map[string]int{}
		for _, h := range all {
			ids[h.order.ID] = true
			users[h.order.User]++
		}
		if err != nil || len(all) != 33 || len(ids) != 33 || len(users) != 30 || users["u10"] != 2 || users["u11"] != 1 || !c.served() {
			t.Errorf("%d were heard, %d orders, %d users, %v", len(all), len(ids), len(users), err)
		}
	})
}

// TestWhenASaleEnds: half a second after what there is to see has happened, not
// before; otherwise with the line, or with the time.
func TestWhenASaleEnds(t *testing.T) {
	never := func(*crowd) bool { return false }
	for name, c := range map[string]struct {
		buyers int
		buy    func(lab.Order) (lab.Answer, error)
		enough func(*crowd) bool
		ends   time.Duration
		served bool
	}{
		"sold out":                   {1_000_000, grants, (*crowd).soldOut, 100*time.Millisecond + afterwards, true},
		"not sold out":               {1_000_000, refuses, (*crowd).soldOut, 2 * time.Second, false},
		"never enough":               {1_000_000, grants, never, 2 * time.Second, false},
		"nobody says what is enough": {1_000_000, grants, nil, 2 * time.Second, false},
		"the line is short":          {1000, refuses, (*crowd).soldOut, 1100 * time.Millisecond, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				crowd := crowded(Plan{Stock: 100, Buyers: c.buyers, Connections: 1, Duration: 2 * time.Second}, c.buy)
				if c.enough != nil {
					crowd.enough = func() bool { return c.enough(crowd) }
				}
				all, err := crowd.rush(t.Context())
				if err != nil || crowd.served() != c.served {
					t.Errorf("served: %v, %v", crowd.served(), err)
				}
				if last := all[len(all)-1].end; last < c.ends || last > c.ends+2*time.Millisecond {
					t.Errorf("the last answer came after %s, want %s", last, c.ends)
				}
			})
		})
	}
}

// TestASellerThatIsAway is waited for: for a while, or, if it comes back, until it does.
func TestASellerThatIsAway(t *testing.T) {
	gone := errors.New("gone")
	for name, c := range map[string]struct {
		again bool
		back  time.Duration // when it answers again
		heard lab.Answer    // by the last one
		gives bool          // up
		ends  time.Duration
	}{
		"nobody asks again":  {false, time.Hour, 0, true, silence},
		"it does not return": {true, time.Hour, 0, true, absence},
		"it returns":         {true, absence / 2, lab.Granted, false, 25 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var crowd *crowd
				crowd = crowded(Plan{Stock: 1_000_000, Buyers: 1_000_000, Connections: 2, Duration: 25 * time.Second}, func(lab.Order) (lab.Answer, error) {
					if now := time.Since(crowd.start); now > 100*time.Millisecond && now < c.back {
						return 0, gone
					}
					return lab.Granted, nil
				})
				crowd.again = c.again
				all, err := crowd.rush(t.Context())
				if c.gives != (err != nil) || err != nil && (!errors.Is(err, gone) || !strings.Contains(err.Error(), "no answer for")) {
					t.Error(err)
				}
				last := all[len(all)-1]
				if last.answer != c.heard || last.end < c.ends || last.end > c.ends+silence/5 {
					t.Errorf("the last one heard %d after %s, want %d after %s", last.answer, last.end, c.heard, c.ends)
				}
			})
		})
	}
}

// TestMarks: a part of the stock, or of the buyers, whatever is first.
func TestMarks(t *testing.T) {
	for name, c := range map[string]struct {
		buy  func(lab.Order) (lab.Answer, error)
		want int // who have asked when it is reached
	}{"granted": {grants, 20}, "refused": {refuses, 60}} {
		synctest.Test(t, func(t *testing.T) {
			asked := 0
			var reached <-chan struct{}
			crowd := crowded(Plan{Stock: 80, Buyers: 120, Connections: 1, Duration: time.Minute}, func(o lab.Order) (lab.Answer, error) {
				select {
				case <-reached:
				default:
					asked++
				}
				return c.buy(o)
			})
			reached = crowd.mark(0.25, 0.5)
			if _, err := crowd.rush(t.Context()); err != nil || asked != c.want {
				t.Errorf("%s: the mark was reached when %d had asked, want %d: %v", name, asked, c.want, err)
			}
		})
	}
}
