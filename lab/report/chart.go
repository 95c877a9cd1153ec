package report

import (
	"math"
	"slices"
)

// chart is bars, family by family.
type chart struct {
	Groups []group
	Ticks  []tick
	// Logarithmic: each line is ten times the one before. Only where one bar
	// would hide all others.
	Logarithmic bool
}

type group struct {
	Name string
	Bars []bar
}

// bar is one way's bar, its length in per cent of the width; none where nothing
// is known.
type bar struct {
	Way          *way
	Text, Length string
}

// tick is a line across a drawing, with its name.
type tick struct{ At, Text string }

// tooFar is how many times greater the greatest may be than the one in the middle
// until a scale is logarithmic: then half of the bars could not be seen.
const tooFar = 100

// bars draws a number of every way that has it.
func bars(all []family, number func(*way) (float64, bool), write func(float64) string, unknown string) chart {
	var known []float64
	for _, f := range all {
		for _, w := range f.Ways {
			if v, ok := number(w); ok && v > 0 {
				known = append(known, v)
			}
		}
	}
	s := newScale(known)
	c := chart{Logarithmic: s.logarithmic, Ticks: s.ticks()}
	for _, f := range all {
		g := group{Name: string(f.Name)}
		for _, w := range f.Ways {
			b := bar{Way: w, Text: unknown}
			if v, ok := number(w); ok {
				b.Text, b.Length = write(v), coordinate(s.at(v))
			}
			g.Bars = append(g.Bars, b)
		}
		c.Groups = append(c.Groups, g)
	}
	return c
}

// Known says whether there is anything to draw.
func (c chart) Known() bool { return len(c.Ticks) > 0 }

// scale turns a number into per cent of the width.
type scale struct {
	logarithmic bool
	low, high   float64 // of a logarithmic one, as powers of ten
	step        float64
}

func newScale(numbers []float64) scale {
	if len(numbers) == 0 {
		return scale{}
	}
	slices.Sort(numbers)
	least, middle, most := numbers[0], numbers[len(numbers)/2], numbers[len(numbers)-1]
	if most > tooFar*middle {
		return scale{logarithmic: true, low: math.Floor(math.Log10(least)), high: math.Ceil(math.Log10(most)), step: 1}
	}
	step := roundStep(most / 5)
	return scale{high: step * math.Ceil(most/step), step: step}
}

func (s scale) at(v float64) float64 {
	if s.logarithmic {
		if v <= 0 {
			return 0
		}
		v = math.Log10(v)
	}
	if s.high <= s.low {
		return 0
	}
	return 100 * max(v-s.low, 0) / (s.high - s.low)
}

func (s scale) ticks() []tick {
	var all []tick
	for n := 0; s.step > 0; n++ {
		v := s.low + float64(n)*s.step
		if v > s.high*(1+1e-9) {
			break
		}
		if s.logarithmic {
			v = math.Pow(10, v)
		}
		all = append(all, tick{At: coordinate(s.at(v)), Text: tickText(v)})
	}
	return all
}

// roundStep is the next of 1, 2 and 5 times a power of ten.
func roundStep(v float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range []float64{1, 2, 5} {
		if v <= m*power {
			return m * power
		}
	}
	return 10 * power
}

func tickText(v float64) string {
	switch {
	case v >= 1000:
		return percent(v/1000) + "k"
	case v > 0 && v < 1:
		return percent(math.Round(v*1000) / 1000)
	}
	return percent(v)
}

// speedChart is claims per second, while there was stock.
func speedChart(all []family) chart {
	return bars(all, func(w *way) (float64, bool) { return w.ClaimsPerSecond, w.Timed() }, perSecond, "not tried")
}

// costChart is what servers had to do for one request.
func costChart(all []family) chart {
	return bars(all, func(w *way) (float64, bool) {
		if w.Commands == nil {
			return 0, false
		}
		return *w.Commands, true
	}, average, "not counted")
}
