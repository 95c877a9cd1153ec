package report

import (
	"math"
	"strconv"
)

// grouped writes a whole number so that it can be read: 12,345.
func grouped(n int) string {
	s := strconv.Itoa(n)
	first := 0
	if n < 0 {
		first = 1
	}
	for i := len(s) - 3; i > first; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// perSecond writes a rate: whole, since no lab repeats itself to the digit.
func perSecond(rate float64) string { return grouped(int(math.Round(rate))) }

// duration writes milliseconds with as many digits as mean something.
func duration(ms float64) string {
	switch {
	case ms >= 10_000:
		return strconv.FormatFloat(ms/1000, 'f', 0, 64) + " s"
	case ms >= 1000:
		return strconv.FormatFloat(ms/1000, 'f', 1, 64) + " s"
	case ms >= 100:
		return strconv.FormatFloat(ms, 'f', 0, 64) + " ms"
	case ms >= 1:
		return strconv.FormatFloat(ms, 'f', 1, 64) + " ms"
	}
	return strconv.FormatFloat(ms, 'f', 2, 64) + " ms"
}

// percent writes a percentile: 99.9.
func percent(p float64) string { return strconv.FormatFloat(p, 'f', -1, 64) }

// coordinate writes a place in a drawing, to a tenth.
func coordinate(v float64) string {
	return strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64)
}

// nonNull writes a number that may not be known.
func nonNull(n *float64, write func(float64) string) string {
	if n == nil {
		return "not counted"
	}
	return write(*n)
}

// average writes a mean of whole numbers: what is batched is less than one.
func average(v float64) string {
	if v < 1 {
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
	return strconv.FormatFloat(v, 'f', 1, 64)
}
