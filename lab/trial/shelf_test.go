package trial

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"rushgate/lab"
)

// shelf is a way to sell in the memory of the test: one that is right, but for what
// it is told to do wrong.
type shelf struct {
	deaf      bool // it goes on selling what was cleared
	forgetful bool // it does not put on the shelf what is added
	slow      bool // what it cleared is offered again

	mu     sync.Mutex
	left   int
	orders []lab.Order
	has    map[string]bool
}

func (s *shelf) Begin(_ context.Context, units int) error {
	s.left, s.has = units, map[string]bool{}
	return nil
}

// Buy writes down at once, and answers a little later.
func (s *shelf) Buy(ctx context.Context, o lab.Order) (lab.Answer, error) {
	answer := s.sell(o)
	if !lab.Pause(ctx, time.Millisecond) {
		return 0, ctx.Err()
	}
	return answer, nil
}

func (s *shelf) sell(o lab.Order) lab.Answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.has[o.User]:
		return lab.Already
	case s.left == 0:
		return lab.SoldOut
	}
	s.left--
	s.has[o.User], s.orders = true, append(s.orders, o)
	return lab.Granted
}

func (s *shelf) Recover(context.Context) error { return nil }

func (s *shelf) Restock(_ context.Context, units int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.forgetful {
		s.left += units
	}
	return nil
}

func (s *shelf) Clear(context.Context) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.left
	if !s.deaf {
		s.left = 0
	}
	if s.slow { // it is seen at the end alone: buyers have what they want
		time.AfterFunc(afterwards+time.Second/4, func() { s.mu.Lock(); s.left = 3; s.mu.Unlock() })
	}
	return n, nil
}

func (s *shelf) Left(ctx context.Context) (int, error) {
	lab.Pause(ctx, time.Second)
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.left, nil
}

func (s *shelf) Orders(context.Context) ([]lab.Order, error) { return s.orders, nil }

func (s *shelf) Close() error { return nil }

// sold runs the sales of a plan on a shelf.
func sold(s *shelf, plan Plan) Outcome {
	return Run(context.Background(), Setup{Plan: plan, Place: func(context.Context, lab.Way) (lab.Place, error) { return lab.Place{}, nil }},
		lab.Way{Name: "shelf", Open: func(context.Context, lab.Place) (lab.Seller, error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.orders = nil
			return s, nil
		}})
}

// TestAnOperatorIsObeyed or not, and it is seen in what way not. (Buyers who asked
// before the clearing, and hear of it after that, are none who asked too late.)
func TestAnOperatorIsObeyed(t *testing.T) {
	for name, c := range map[string]struct {
		shelf *shelf
		seen  func(*Admin) bool
	}{
		"obeyed": {&shelf{}, func(a *Admin) bool {
			return a.Obeyed && a.After == 0 && a.Restocked == 50 && a.Cleared > 0 && a.Total == 150-a.Cleared && a.Granted == a.Total && a.Left == 0
		}},
		"sells what was cleared": {&shelf{deaf: true}, func(a *Admin) bool {
			return !a.Obeyed && a.After > 0 && a.Oversold == a.Cleared && a.Granted == 150
		}},
		"does not sell what was added": {&shelf{forgetful: true}, func(a *Admin) bool { return !a.Obeyed && a.After == 0 && a.Stranded == 50 }},
		"offers again what was cleared": {&shelf{slow: true}, func(a *Admin) bool {
			return !a.Obeyed && a.After == 0 && a.Left == 3 && a.Phantom == 3
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := sold(c.shelf, Plan{Stock: 100, Buyers: 1_000_000, Connections: 8, Duration: time.Minute, Admin: true})
				if o.Problem != "" || !c.seen(o.Admin) || !o.Admin.Finished || !o.Finished || o.Granted != 100 || o.Oversold+o.Undersold+o.Phantom > 0 {
					t.Errorf("%s %s: %+v; the rush: %+v", o.Verdict, o.Problem, o.Admin, o.Books)
				}
				if exact := name == "obeyed"; o.Exact() != exact {
					t.Errorf("the verdict is: %s", o.Verdict)
				}
			})
		})
	}
}
