package report

import (
	"fmt"
	"math"
	"strings"

	"rushgate/lab/trial"
)

// plot is the curves of latency in one size: percentiles on x, spread so that
// each nine has as much room as the one before, as HdrHistogram draws them;
// milliseconds on a logarithmic y.
type plot struct {
	Size          string // of the screen that it is for
	Width, Height int
	Left, Right   string // of the area
	Top, Bottom   string
	X, Y          []tick
	Lines         []line
}

// line is one way's curve.
type line struct {
	Way  *way
	Path string
	// Points are for the script: x, y, percentile and time of each.
	Points string
}

// Margins of the area, for what is written beside it. The right one has room for
// half of the last word.
const (
	marginLeft   = 60.0
	marginRight  = 26.0
	marginTop    = 10.0
	marginBottom = 40.0
)

// nines is how far the axis of percentiles goes: beyond 99.9 %, with the slowest
// of all at its end.
const nines = 3.5

// plots draws the curves for a screen and for a phone: letters that shrink with
// a drawing cannot be read.
func plots(ways []*way) []plot {
	low, high := decades(ways)
	if low == high {
		return nil
	}
	return []plot{
		newPlot("wide", 660, 440, []float64{0, 50, 75, 90, 95, 99, 99.5, 99.9, 100}, ways, low, high),
		newPlot("narrow", 340, 380, []float64{0, 50, 90, 99, 99.9, 100}, ways, low, high),
	}
}

func newPlot(size string, width, height int, percentiles []float64, ways []*way, low, high float64) plot {
	left, right, top, bottom := marginLeft, float64(width)-marginRight, marginTop, float64(height)-marginBottom
	x := func(p float64) float64 { return left + (right-left)*ninesOf(p)/nines }
	y := func(ms float64) float64 {
		return bottom - (bottom-top)*(math.Log10(max(ms, math.Pow(10, low)))-low)/(high-low)
	}
	p := plot{
		Size: size, Width: width, Height: height,
		Left: coordinate(left), Right: coordinate(right), Top: coordinate(top), Bottom: coordinate(bottom),
	}
	for _, at := range percentiles {
		name := percent(at)
		if at == 100 {
			name = "max"
		}
		p.X = append(p.X, tick{coordinate(x(at)), name})
	}
	for power := low; power <= high; power++ {
		ms := math.Pow(10, power)
		p.Y = append(p.Y, tick{coordinate(y(ms)), tickDuration(ms)})
	}
	for _, w := range ways {
		if w.Timed() {
			p.Lines = append(p.Lines, newLine(w, x, y))
		}
	}
	return p
}

func newLine(w *way, x, y func(float64) float64) line {
	var path, points strings.Builder
	for i, at := range w.Curve {
		pen := "L"
		if i == 0 {
			pen = "M"
		}
		px, py := coordinate(x(at.Percent)), coordinate(y(at.Ms))
		fmt.Fprintf(&path, "%s%s %s", pen, px, py)
		fmt.Fprintf(&points, "%s|%s|%s|%s;", px, py, percentName(at.Percent), duration(at.Ms))
	}
	return line{Way: w, Path: path.String(), Points: strings.TrimSuffix(points.String(), ";")}
}

// ninesOf is where a percentile stands: 90 at 1, 99 at 2, 99.9 at 3.
func ninesOf(p float64) float64 {
	if p >= 100 {
		return nines
	}
	return min(-math.Log10(1-p/100), nines)
}

// decades returns the powers of ten between which all curves are.
func decades(ways []*way) (low, high float64) {
	least, most := math.Inf(1), 0.0
	each := func(p trial.Point) {
		least, most = min(least, max(p.Ms, 0.001)), max(most, p.Ms)
	}
	for _, w := range ways {
		if w.Timed() {
			for _, p := range w.Curve {
				each(p)
			}
		}
	}
	if most == 0 {
		return 0, 0
	}
	low, high = math.Floor(math.Log10(least)), math.Ceil(math.Log10(most))
	return low, max(high, low+1)
}

func tickDuration(ms float64) string {
	if ms >= 1000 {
		return percent(ms/1000) + " s"
	}
	return percent(ms) + " ms"
}

// Dash is the pattern of a line and Color its colour: no two of 24 lines share
// both.
func (w *way) Dash() int  { return w.Number / colors % dashes }
func (w *way) Color() int { return w.Number % colors }

const colors, dashes = 8, 4 // that page.css has
