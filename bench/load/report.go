package load

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Report is what a run measured. Rates and latencies are those after the
// warm-up; All counts everything, and is what a database must agree with.
type Report struct {
	Mode        Mode    `json:"mode"`
	OfferedRate float64 `json:"offered_per_second,omitempty"` // open loop
	Connections int     `json:"connections"`
	PerRequest  int     `json:"claims_per_request"`
	Names       Names   `json:"users"`

	Seconds float64 `json:"seconds"` // measured
	All     Counts  `json:"all"`
	Counts  Counts  `json:"measured"`

	AnswersPerSecond  float64 `json:"answers_per_second"`
	AcceptedPerSecond float64 `json:"accepted_per_second"`
	RefusedPerSecond  float64 `json:"refused_per_second"`

	// Latency is from the moment at which a request was due; Service from the
	// one at which it was sent. In the closed loop they are the same.
	Latency Latency `json:"latency"`
	Service Latency `json:"service"`
}

// Latency in milliseconds.
type Latency struct {
	Mean float64 `json:"mean_ms"`
	P50  float64 `json:"p50_ms"`
	P90  float64 `json:"p90_ms"`
	P99  float64 `json:"p99_ms"`
	P999 float64 `json:"p999_ms"`
	Max  float64 `json:"max_ms"`
}

func newReport(p *Plan, r *recorder, sending, whole time.Duration) *Report {
	rep := &Report{Mode: p.Mode, Connections: p.Connections, PerRequest: p.PerRequest, Names: p.Names,
		All: r.all, Counts: r.window, Latency: newLatency(r.latency), Service: newLatency(r.service)}
	if p.Mode == Open {
		rep.OfferedRate = p.Rate
	}
	// In the open loop the answers may go on after the last request: they
	// belong to the time in which they came.
	measured := max(sending, whole) - p.Warmup
	rep.Seconds = measured.Seconds()
	if measured > 0 {
		rep.AnswersPerSecond = float64(r.window.Answers) / rep.Seconds
		rep.AcceptedPerSecond = float64(r.window.Accepted) / rep.Seconds
		rep.RefusedPerSecond = float64(r.window.RefusedAll()) / rep.Seconds
	}
	return rep
}

func newLatency(h *hdrhistogram.Histogram) Latency {
	ms := func(us int64) float64 { return float64(us) / 1000 }
	return Latency{Mean: h.Mean() / 1000, P50: ms(h.ValueAtQuantile(50)), P90: ms(h.ValueAtQuantile(90)),
		P99: ms(h.ValueAtQuantile(99)), P999: ms(h.ValueAtQuantile(99.9)), Max: ms(h.Max())}
}

// WriteTable writes the report for people.
func (r *Report) WriteTable(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintf(t, "mode\t%s", r.Mode)
	if r.Mode == Open {
		fmt.Fprintf(t, ", %.0f requests a second", r.OfferedRate)
	}
	fmt.Fprintf(t, "\nconnections\t%d, %s users, %d claim(s) a request\n", r.Connections, r.Names, r.PerRequest)
	fmt.Fprintf(t, "measured\t%.1f s\n\n", r.Seconds)
	fmt.Fprintf(t, "accepted\t%d\t%.0f/s\n", r.Counts.Accepted, r.AcceptedPerSecond)
	if r.Counts.Replayed > 0 {
		fmt.Fprintf(t, "replayed\t%d\n", r.Counts.Replayed)
	}
	fmt.Fprintf(t, "refused\t%d\t%.0f/s\n", r.Counts.RefusedAll(), r.RefusedPerSecond)
	for _, code := range slices.Sorted(maps.Keys(r.Counts.Refused)) {
		fmt.Fprintf(t, "  %s\t%d\n", code, r.Counts.Refused[code])
	}
	fmt.Fprintf(t, "no answer\t%d\n", r.Counts.Errors)
	if r.Mode == Open || r.Counts.Unsent > 0 {
		fmt.Fprintf(t, "not sent\t%d\n", r.Counts.Unsent)
	}
	fmt.Fprintf(t, "\nlatency, ms\tp50\tp90\tp99\tp99.9\tmax\n")
	r.Latency.row(t, "from when it was due")
	if r.Mode == Open {
		r.Service.row(t, "from when it was sent")
	}
	return t.Flush()
}

func (l *Latency) row(w io.Writer, name string) {
	fmt.Fprintf(w, "%s\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\n", name, l.P50, l.P90, l.P99, l.P999, l.Max)
}
