package trial

import (
	"math"
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

// TestSpeed: only grants until the last unit count, refusals apart, those alone who
// had an answer; and only who got one is asked how long that took.
func TestSpeed(t *testing.T) {
	asked := func(a lab.Answer, begin, end time.Duration) heard { return heard{answer: a, begin: begin, end: end} }
	all := []heard{
		asked(lab.Granted, 0, 500*time.Millisecond),                      // waited 500 ms
		asked(lab.Contended, 0, 600*time.Millisecond),                    // before the end of the stock
		asked(lab.Granted, 900*time.Millisecond, time.Second),            // waited 100 ms: the last unit
		asked(lab.SoldOut, 950*time.Millisecond, 1100*time.Millisecond),  // asked while there was one
		asked(lab.Granted, 1050*time.Millisecond, 1060*time.Millisecond), // waited 10 ms: oversold
		asked(lab.SoldOut, 1100*time.Millisecond, 2*time.Second),
		asked(lab.SoldOut, 2*time.Second, 3*time.Second),
		asked(0, 1100*time.Millisecond, 9*time.Second), // never heard
	}
	s := measure(all, 2)
	if s.Seconds != 1 || s.ClaimsPerSecond != 2 || s.RefusalsPerSecond == nil || *s.RefusalsPerSecond != 1 {
		t.Errorf("%+v", s)
	}
	for _, c := range []struct {
		name      string
		got, want float64
	}{
		{"p50", s.P50, 100}, {"p99", s.P99, 500}, {"p99.9", s.P999, 500}, {"the fastest", s.Curve[0].Ms, 10},
		{"the slowest", s.Curve[len(s.Curve)-1].Ms, 500}, {"the curve's end", s.Curve[len(s.Curve)-1].Percent, 100},
	} {
		if math.Abs(c.got-c.want) > c.want/1000+0.001 { // three digits
			t.Errorf("%s is %v, not %v", c.name, c.got, c.want)
		}
	}
	var many []heard
	for i := range 100 {
		many = append(many, asked(lab.Granted, 0, time.Duration(i+1)*time.Millisecond))
	}
	if s := measure(many, 100); s.P50 < 49 || s.P50 > 51 || s.P99 < 98.9 || s.P99 > 99.1 || s.P999 < 99.9 {
		t.Errorf("of 1 to 100 ms: %+v", s)
	}
	if s := measure(nil, 2); s.ClaimsPerSecond != 0 || s.RefusalsPerSecond != nil {
		t.Errorf("nobody asked: %+v", s)
	}
}

// TestCount: what one request cost, where servers count.
func TestCount(t *testing.T) {
	commands, trips := Count{Commands: 130, RoundTrips: 60}.since(Count{Commands: 30, RoundTrips: 10}, 50)
	if commands == nil || trips == nil || *commands != 2 || *trips != 1 {
		t.Error(commands, trips)
	}
	if commands, trips := (Count{Commands: -1, RoundTrips: 5}).since(Count{Commands: -1}, 5); commands != nil || trips == nil {
		t.Error("a server that does not count has counted", commands, trips)
	}
	if commands, _ := (Count{Commands: 5}).since(Count{}, 0); commands != nil {
		t.Error("nobody asked, and each cost", *commands)
	}
}

// TestHearsay: where the books cannot be read, what was heard says who has too many,
// and who was turned away while there was stock.
func TestHearsay(t *testing.T) {
	all := []heard{
		says("u1-1", lab.Granted, 1), says("u2-1", lab.Contended, 2), says("u3-1", lab.Granted, 3),
		says("u4-1", lab.Contended, 4), says("u5-1", lab.Granted, 5), says("u6-1", 0, 6),
	}
	if b := hearsay(2, all); b.Granted != 3 || b.Oversold != 1 || b.Contended != 1 || b.Unanswered != 1 {
		t.Errorf("%+v", b)
	}
}
