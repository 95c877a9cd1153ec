package load

import (
	"math"
	"testing"
	"time"
)

func TestEvenGaps(t *testing.T) {
	s := newSchedule(&Plan{Rate: 4000})
	for i := 1; i <= 1000; i++ {
		if got, want := s.next(), time.Duration(i)*250*time.Microsecond; got != want {
			t.Fatalf("request %d is due at %s, want %s", i, got, want)
		}
	}
}

// Gaps of a Poisson process have the mean 1/rate, and a standard deviation as
// large as that.
func TestRandomGapsAreThoseOfIndependentBuyers(t *testing.T) {
	const n, rate = 100_000, 1000.0
	s := newSchedule(&Plan{Rate: rate, Poisson: true, Seed: 1})
	var last time.Duration
	var sum, squares float64
	for range n {
		at := s.next()
		gap := (at - last).Seconds() * rate
		last = at
		sum += gap
		squares += gap * gap
	}
	mean := sum / n
	deviation := math.Sqrt(squares/n - mean*mean)
	if math.Abs(mean-1) > 0.02 || math.Abs(deviation-1) > 0.02 {
		t.Errorf("mean %.3f and deviation %.3f of the gaps, want 1 and 1", mean, deviation)
	}
}
