package limit

import (
	"math/bits"
	"time"
)

// All arithmetic is on whole numbers: times in microseconds since 1970, units,
// and, for buckets, fractions of a microsecond with the denominator a of the
// policy. Nothing is rounded where a decision depends on it.

// span is a time, or a length of time: us + frac/a microseconds, 0 ≤ frac < a.
type span struct{ us, frac int64 }

func (s span) plus(o span, a int64) span {
	s.us += o.us
	if s.frac += o.frac; s.frac >= a {
		s.us, s.frac = s.us+1, s.frac-a
	}
	return s
}

func (s span) minus(o span, a int64) span {
	s.us -= o.us
	if s.frac -= o.frac; s.frac < 0 {
		s.us, s.frac = s.us-1, s.frac+a
	}
	return s
}

func (s span) less(o span) bool { return s.us < o.us || s.us == o.us && s.frac < o.frac }

// ceil returns whole microseconds, rounded up.
func (s span) ceil() int64 {
	if s.frac > 0 {
		return s.us + 1
	}
	return s.us
}

// lowest returns a fraction in lowest terms.
func lowest(a, b int64) (int64, int64) {
	x, y := a, b
	for y != 0 {
		x, y = y, x%y
	}
	return a / x, b / x
}

// mulDiv returns x·y/d rounded down, and the remainder. The quotient must fit.
func mulDiv(x, y, d int64) (quotient, remainder int64) {
	hi, lo := bits.Mul64(uint64(x), uint64(y))
	if hi == 0 { // divides faster
		return int64(lo / uint64(d)), int64(lo % uint64(d))
	}
	q, r := bits.Div64(hi, lo, uint64(d))
	return int64(q), int64(r)
}

// mulDivUp returns x·y/d rounded up.
func mulDivUp(x, y, d int64) int64 {
	q, r := mulDiv(x, y, d)
	if r > 0 {
		q++
	}
	return q
}

func micros(us int64) time.Duration { return time.Duration(us) * time.Microsecond }
