package trial

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rushgate/lab"
)

func says(id string, a lab.Answer, end time.Duration) heard {
	return heard{order: lab.Order{ID: id, User: id[:2]}, answer: a, begin: end - 1, end: end}
}

func order(id string) lab.Order { return lab.Order{ID: id, User: id[:2]} }

func TestBooks(t *testing.T) {
	plan := Plan{Stock: 2, Buyers: 5}
	for name, c := range map[string]struct {
		left   int
		heard  []heard
		orders []lab.Order
		want   Books
	}{
		"sold out": {0,
			[]heard{says("u1-1", lab.Granted, 1), says("u2-1", lab.Granted, 2), says("u3-1", lab.SoldOut, 3)},
			[]lab.Order{order("u1-1"), order("u2-1")},
			Books{Granted: 2, Orders: 2}},
		"one too many": {0,
			[]heard{says("u1-1", lab.Granted, 1), says("u2-1", lab.Granted, 2), says("u3-1", lab.Granted, 3)},
			[]lab.Order{order("u1-1"), order("u2-1"), order("u3-1")},
			Books{Granted: 3, Orders: 3, Oversold: 1}},
		"one too many, who is not even in the books": {0,
			[]heard{says("u1-1", lab.Granted, 1), says("u2-1", lab.Granted, 2), says("u3-1", lab.Granted, 3)},
			[]lab.Order{order("u1-1"), order("u2-1")},
			Books{Granted: 3, Orders: 2, Oversold: 1, OrdersLost: 1}},
		"a unit that nobody has": {0,
			[]heard{says("u1-1", lab.Granted, 1), says("u2-1", 0, 2)},
			[]lab.Order{order("u1-1")},
			Books{Granted: 1, Orders: 1, Undersold: 1, Stranded: 1, Unanswered: 1}},
		"an order whose buyer never heard": {0,
			[]heard{says("u1-1", lab.Granted, 1), says("u2-1", 0, 2)},
			[]lab.Order{order("u1-1"), order("u2-1")},
			Books{Granted: 1, Orders: 2, Unanswered: 1}},
		"left, and turned away": {1,
			[]heard{says("u1-1", lab.Granted, 1), says("u2-1", lab.Contended, 2)},
			[]lab.Order{order("u1-1")},
			Books{Granted: 1, Orders: 1, Left: 1, Undersold: 1, Contended: 1}},
		"turned away when it was sold out": {0,
			[]heard{says("u1-1", lab.Granted, 1), says("u2-1", lab.Granted, 2), says("u3-1", lab.Contended, 3)},
			[]lab.Order{order("u1-1"), order("u2-1")},
			Books{Granted: 2, Orders: 2}},
		"one user with two": {0,
			[]heard{says("u1-1", lab.Granted, 1), says("u1-2", lab.Granted, 2)},
			[]lab.Order{order("u1-1"), order("u1-2")},
			Books{Granted: 2, Orders: 2, Duplicates: 1}},
		"one user with two, of which one is lost": {1,
			[]heard{says("u1-1", lab.Granted, 1), says("u1-2", lab.Granted, 2)},
			[]lab.Order{order("u1-2")},
			Books{Granted: 2, Orders: 1, OrdersLost: 1, Left: 1, Duplicates: 1, Phantom: 1}},
		"one too many, who never heard": {0,
			[]heard{says("u1-1", lab.Granted, 1), says("u2-1", lab.Granted, 2), says("u3-1", 0, 3)},
			[]lab.Order{order("u1-1"), order("u2-1"), order("u3-1")},
			Books{Granted: 2, Orders: 3, Oversold: 1, Unanswered: 1}},
		"stock that an outdated write has put back": {1,
			[]heard{says("u1-1", lab.Granted, 1), says("u2-1", lab.Granted, 2)},
			[]lab.Order{order("u1-1"), order("u2-1")},
			Books{Granted: 2, Orders: 2, Left: 1, Phantom: 1}},
		"stock below zero": {-1,
			[]heard{says("u1-1", lab.Granted, 1)},
			[]lab.Order{order("u1-1")},
			Books{Granted: 1, Orders: 1, Left: -1, Undersold: 1, Stranded: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			c.want.Total, c.want.Finished = 2, true
			got := balance(plan, 2, c.left, c.heard, c.orders, true)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestUnfinished: what is left because the time was over was not undersold.
func TestUnfinished(t *testing.T) {
	b := balance(Plan{Stock: 2, Buyers: 5}, 2, 1, []heard{says("u1-1", lab.Granted, 1)}, []lab.Order{order("u1-1")}, false)
	if b.Undersold != 0 {
		t.Errorf("undersold %d", b.Undersold)
	}
	b = balance(Plan{Stock: 2, Buyers: 1}, 2, 1, []heard{says("u1-1", lab.Granted, 1)}, []lab.Order{order("u1-1")}, true)
	if b.Undersold != 0 {
		t.Errorf("undersold %d to fewer buyers than there are units", b.Undersold)
	}
}

// TestSpeed: only grants until the last unit count, refusals apart.
func TestSpeed(t *testing.T) {
	all := []heard{
		says("u1-1", lab.Granted, 500*time.Millisecond), says("u2-1", lab.Granted, time.Second),
		says("u3-1", lab.SoldOut, 2*time.Second), says("u4-1", lab.SoldOut, 3*time.Second),
	}
	s := measure(all, 2)
	if s.Seconds != 1 || s.ClaimsPerSecond != 2 || s.RefusalsPerSecond == nil || *s.RefusalsPerSecond != 1 {
		t.Errorf("%+v", s)
	}
	if s := measure(nil, 2); s.ClaimsPerSecond != 0 || s.RefusalsPerSecond != nil {
		t.Errorf("nobody asked: %+v", s)
	}
}
