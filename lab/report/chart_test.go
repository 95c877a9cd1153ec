package report

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"rushgate/lab/trial"
)

func TestNumbersCanBeRead(t *testing.T) {
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -1000: "-1,000", -999: "-999"} {
		if got := grouped(n); got != want {
			t.Errorf("%d is written %s", n, got)
		}
	}
	for ms, want := range map[float64]string{0.0314: "0.03 ms", 4.84: "4.8 ms", 133.2: "133 ms", 1375: "1.4 s", 12_345: "12 s"} {
		if got := duration(ms); got != want {
			t.Errorf("%v ms is written %s", ms, got)
		}
	}
}

func TestScales(t *testing.T) {
	texts := func(numbers ...float64) (all []string) {
		for _, tick := range newScale(numbers).ticks() {
			all = append(all, tick.Text+"@"+tick.At)
		}
		return all
	}
	for name, c := range map[string]struct{ got, want []string }{
		"linear":           {texts(200, 4000, 22594), []string{"0@0", "5k@20", "10k@40", "15k@60", "20k@80", "25k@100"}},
		"logarithmic":      {texts(8, 20, 22594), []string{"1@0", "10@20", "100@40", "1k@60", "10k@80", "100k@100"}},
		"one":              {texts(3.5), []string{"0@0", "1@25", "2@50", "3@75", "4@100"}},
		"nothing to count": {texts(), nil},
	} {
		if diff := cmp.Diff(c.want, c.got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// Bars keep the order of what they show and stay in the picture.
func TestBarsAreAsLongAsTheirNumbers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		numbers := rapid.SliceOfN(rapid.Float64Range(0.001, 1e7), 1, 40).Draw(t, "numbers")
		s := newScale(append([]float64(nil), numbers...))
		if n := len(s.ticks()); n < 2 || n > 12 {
			t.Fatalf("%d ticks", n)
		}
		for _, a := range numbers {
			if at := s.at(a); at < 0 || at > 100+1e-9 {
				t.Fatalf("%v is at %v %%", a, at)
			}
			for _, b := range numbers {
				if (a < b) != (s.at(a) < s.at(b)) && a != b {
					t.Fatalf("%v is at %v %% and %v at %v %%", a, s.at(a), b, s.at(b))
				}
			}
		}
	})
}

func TestCurvesRiseWithinTheirArea(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &way{Outcome: &trial.Outcome{Books: trial.Books{Granted: 1}}}
		ms := rapid.Float64Range(0.0001, 10).Draw(t, "ms")
		for _, p := range []float64{0, 10, 25, 50, 75, 90, 95, 99, 99.5, 99.9, 100} {
			w.Curve = append(w.Curve, trial.Point{Percent: p, Ms: ms})
			w.P999 = ms
			ms *= rapid.Float64Range(1, 4).Draw(t, "more")
		}
		for _, p := range plots([]*way{w}) {
			lastX, lastY := -math.MaxFloat64, math.MaxFloat64
			for point := range strings.SplitSeq(p.Lines[0].Points, ";") {
				parts := strings.Split(point, "|")
				x, y := parseNumber(t, parts[0]), parseNumber(t, parts[1])
				if x < lastX || y > lastY || x < parseNumber(t, p.Left) || x > parseNumber(t, p.Right) || y < parseNumber(t, p.Top) || y > parseNumber(t, p.Bottom) {
					t.Fatalf("%s: %s after %v|%v, in %+v", p.Size, point, lastX, lastY, p)
				}
				lastX, lastY = x, y
			}
		}
	})
}

func parseNumber(t interface{ Fatal(...any) }, s string) float64 {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestNoTwoLinesLookTheSame(t *testing.T) {
	seen := map[[2]int]bool{}
	for n := range 30 {
		w := &way{Number: n}
		look := [2]int{w.Color(), w.Dash()}
		if seen[look] {
			t.Fatalf("line %d looks like one before", n)
		}
		seen[look] = true
		for _, class := range []string{".c" + strconv.Itoa(w.Color()) + " ", ".d" + strconv.Itoa(w.Dash()) + " "} {
			if class != ".d0 " && !strings.Contains(pageStyle, class) {
				t.Errorf("the style has no %s", class)
			}
		}
	}
}

// Letters stand out by 4.5 to 1 and lines by 3 to 1 (WCAG 2.2, 1.4.3 and
// 1.4.11), in both schemes.
func TestColoursCanBeRead(t *testing.T) {
	colours := map[string][2]string{}
	for _, c := range regexp.MustCompile(`--([a-z0-9-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\);`).FindAllStringSubmatch(pageStyle, -1) {
		colours[c[1]] = [2]string{c[2], c[3]}
	}
	pairs := map[[2]string]float64{
		{"paper", "ink"}: 4.5, {"weak", "weak-sheet"}: 4.5, {"broken", "broken-sheet"}: 4.5, {"bar", "paper"}: 3,
		{"ink", "weak-sheet"}: 4.5,
	}
	for _, letters := range []string{"ink", "faint", "link", "fine", "weak", "broken"} {
		pairs[[2]string{letters, "paper"}] = 4.5
		pairs[[2]string{letters, "sheet"}] = 4.5
	}
	for n := range colors {
		pairs[[2]string{"c" + strconv.Itoa(n), "paper"}] = 3
	}
	for pair, least := range pairs {
		for scheme, name := range []string{"light", "dark"} {
			if got := contrast(t, colours[pair[0]][scheme], colours[pair[1]][scheme]); got < least {
				t.Errorf("%s: %s on %s stands out by %.2f, not %v", name, pair[0], pair[1], got, least)
			}
		}
	}
}

func contrast(t *testing.T, a, b string) float64 {
	t.Helper()
	luminance := func(colour string) (sum float64) {
		if len(colour) != 7 {
			t.Fatalf("%q is not a colour", colour)
		}
		for i, share := range []float64{0.2126, 0.7152, 0.0722} {
			n, err := strconv.ParseUint(colour[1+2*i:3+2*i], 16, 8)
			if err != nil {
				t.Fatal(err)
			}
			v := float64(n) / 255
			if v <= 0.04045 {
				v /= 12.92
			} else {
				v = math.Pow((v+0.055)/1.055, 2.4)
			}
			sum += share * v
		}
		return sum
	}
	la, lb := luminance(a), luminance(b)
	return (max(la, lb) + 0.05) / (min(la, lb) + 0.05)
}
