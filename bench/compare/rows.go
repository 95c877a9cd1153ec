package main

import (
	"fmt"
	"slices"

	"rushgate/bench/load"
)

// Row is one line of the table.
type Row struct {
	What    string  `json:"what"`
	Value   float64 `json:"value"`
	Unit    string  `json:"unit"` // "×" for ratios
	Target  string  `json:"target,omitempty"`
	Verdict string  `json:"verdict,omitempty"` // ok, short, or void: reason
	Detail  string  `json:"detail,omitempty"`
}

// figure is a median, or the reason why there is none.
type figure struct {
	value float64
	void  string
}

func perSecond(s *Sample) float64 { return s.PerSecond }
func cpuMicros(s *Sample) float64 { return s.CPUMicros }
func p50(s *Sample) float64       { return s.P50Ms }
func p99(s *Sample) float64       { return s.P99Ms }
func p999(s *Sample) float64      { return s.P999Ms }

// pick returns the samples of all rounds of one measurement.
func (b *bench) pick(part, system, from string, connections int, names load.Names) []Sample {
	var picked []Sample
	for _, s := range b.result.Samples {
		if s.Repeated && s.Void == "" {
			continue
		}
		if s.Part == part && s.System == system && s.Load == from && s.Connections == connections && s.Names == names {
			picked = append(picked, s)
		}
	}
	return picked
}

// figure is the median over the rounds. One void round makes it void: a system
// that lost a claim once has no number.
func (b *bench) figure(samples []Sample, of func(*Sample) float64) figure {
	f := figure{value: b.median(samples, of)}
	for _, s := range samples {
		if s.Void != "" {
			f.void = s.Void
		}
	}
	if len(samples) == 0 {
		f.void = "not measured"
	}
	return f
}

func (b *bench) median(samples []Sample, of func(*Sample) float64) float64 {
	if len(samples) == 0 {
		return 0
	}
	values := make([]float64, len(samples))
	for i := range samples {
		values[i] = of(&samples[i])
	}
	slices.Sort(values)
	mid := len(values) / 2
	if len(values)%2 == 0 {
		return (values[mid-1] + values[mid]) / 2
	}
	return values[mid]
}

func rowf(format string, args ...any) string { return fmt.Sprintf(format, args...) }

// atLeast adds the row of a ratio that must reach a target.
func (b *bench) atLeast(what string, a, of figure, target float64) {
	b.ratio(what, a, of, rowf("≥ %.2f", target), func(r float64) bool { return r >= target })
}

// atMost adds the row of a ratio that must stay below a target.
func (b *bench) atMost(what string, a, of figure, target float64) {
	b.ratio(what, a, of, rowf("≤ %.2f", target), func(r float64) bool { return r <= target })
}

// inform adds the row of a ratio that has no target.
func (b *bench) inform(what string, a, of figure) {
	b.ratio(what, a, of, "", nil)
}

func (b *bench) ratio(what string, a, of figure, target string, reached func(float64) bool) {
	row := Row{What: what, Unit: "×", Target: target, Detail: rowf("%s ÷ %s", number(a.value), number(of.value))}
	if of.value > 0 {
		row.Value = a.value / of.value
	}
	row.judge(reached != nil && reached(row.Value), a.void, of.void)
	b.result.Rows = append(b.result.Rows, row)
}

// plain adds the row of a figure that has no target.
func (b *bench) plain(what string, f figure, unit string) {
	row := Row{What: what, Value: f.value, Unit: unit}
	row.judge(false, f.void)
	b.result.Rows = append(b.result.Rows, row)
}

// bound adds the row of a figure that must keep within something.
func (b *bench) bound(what string, f figure, unit, target string, kept bool) {
	row := Row{What: what, Value: f.value, Unit: unit, Target: target}
	row.judge(kept, f.void)
	b.result.Rows = append(b.result.Rows, row)
}

func (r *Row) judge(reached bool, voids ...string) {
	switch {
	case r.Target == "":
	case reached:
		r.Verdict = "ok"
	default:
		r.Verdict = "short"
	}
	for _, void := range voids {
		if void != "" {
			r.Verdict = "void: " + void
		}
	}
}

// number writes a value with as many digits as it deserves.
func number(v float64) string {
	switch {
	case v >= 1000:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}
