package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"rushgate/bench/load"
)

// manyUnits is more than any measurement can sell.
const manyUnits = int64(1) << 36

// Sample is one measurement.
type Sample struct {
	Part        string     `json:"part"`
	Round       int        `json:"round"`
	System      string     `json:"system"`
	Load        string     `json:"load"` // wrk, own, or bare: no HTTP
	Connections int        `json:"connections,omitempty"`
	Names       load.Names `json:"users,omitempty"`
	PerRequest  int        `json:"claims_per_request,omitempty"`

	PerSecond        float64            `json:"per_second"` // claims answered: accepted or, in refusals, refused
	Accepted         int64              `json:"accepted"`
	Refused          int64              `json:"refused"`
	Recorded         int64              `json:"recorded"`                 // in the database, with the warm-up
	Acknowledged     int64              `json:"acknowledged"`             // accepted, with the warm-up
	CPUMicros        float64            `json:"cpu_us_each,omitempty"`    // processor time of the server for each
	CPUOf            map[string]float64 `json:"cpu_us_each_of,omitempty"` // the same by process, where there are several
	P50Ms            float64            `json:"p50_ms,omitempty"`
	P99Ms            float64            `json:"p99_ms,omitempty"`
	P999Ms           float64            `json:"p999_ms,omitempty"`
	StrangersPercent float64            `json:"strangers_percent"`  // of the processors, used by neither server nor load
	Repeated         bool               `json:"repeated,omitempty"` // disturbed: a quieter repetition counts
	Void             string             `json:"void,omitempty"`     // why the measurement does not count

	Report *load.Report `json:"report,omitempty"` // of our own generator
}

// String is the line that is shown while a run goes on.
func (s *Sample) String() string {
	return fmt.Sprintf("round %d  %-18s %-4s %4d conn  %-6s  %8.0f/s  cpu %5.1f µs  others %2.0f %%  %s", s.Round, s.System, s.Load,
		s.Connections, s.Names, s.PerSecond, s.CPUMicros, s.StrangersPercent, s.Void)
}

// quietly measures, and again when others took too much of the processors
// meanwhile, up to b.attempts times. All is kept; what counts is the first
// quiet measurement, or the quietest.
func (b *bench) quietly(measure func() (Sample, error)) (*Sample, error) {
	first := len(b.result.Samples)
	for range b.attempts {
		s, err := measure()
		if err != nil {
			return nil, err
		}
		b.say("%s", &s)
		b.result.Samples = append(b.result.Samples, s)
		if s.StrangersPercent <= noisy {
			break
		}
	}
	tried := b.result.Samples[first:]
	best := 0
	for i := range tried {
		tried[i].Repeated = true
		if tried[i].StrangersPercent < tried[best].StrangersPercent {
			best = i
		}
	}
	tried[best].Repeated = false
	return &tried[best], nil
}

// withWrk measures claims, or refusals, with wrk on a fresh server.
func (b *bench) withWrk(ctx context.Context, sample Sample, stock int64) error {
	_, err := b.quietly(func() (_ Sample, err error) {
		sample := sample
		s, err := b.start(ctx, sample.System, stock)
		if err != nil {
			return sample, err
		}
		defer func() { err = errors.Join(err, s.end()) }()
		err = b.measureWrk(ctx, s, &sample, stock)
		return sample, err
	})
	return err
}

func (b *bench) measureWrk(ctx context.Context, s *server, sample *Sample, stock int64) error {
	warm, err := b.wrk(ctx, s, sample.Connections, sample.Names, b.warmup)
	if err != nil {
		return err
	}
	clock := s.stopwatch()
	r, err := b.wrk(ctx, s, sample.Connections, sample.Names, b.measured)
	if err != nil {
		return err
	}
	used, strangers := clock.stop(b.result.Machine.Cores, r.cpu)
	sample.Load, sample.StrangersPercent = "wrk", strangers
	sample.Accepted, sample.Refused = r.Requests-r.Refused, r.Refused
	sample.Acknowledged = sample.Accepted + warm.Requests - warm.Refused
	sample.PerSecond = float64(r.Requests) / (time.Duration(r.Micros) * time.Microsecond).Seconds()
	sample.cost(used, r.Requests)
	sample.P50Ms, sample.P99Ms = float64(r.P50)/1000, float64(r.P99)/1000
	if err := s.stop(); err != nil {
		return err
	}
	sample.Recorded, sample.Void, err = s.check(ctx, sample.Acknowledged, int64(2*sample.Connections))
	if sample.Void == "" && stock == manyUnits && sample.Refused > 0 {
		sample.Void = "claims were refused though there was stock"
	}
	return err
}

// withOwn measures with our own generator on a fresh server.
func (b *bench) withOwn(ctx context.Context, sample Sample, plan load.Plan, flags ...string) (*Sample, error) {
	return b.quietly(func() (_ Sample, err error) {
		sample := sample
		s, err := b.start(ctx, sample.System, manyUnits, flags...)
		if err != nil {
			return sample, err
		}
		defer func() { err = errors.Join(err, s.end()) }()
		err = b.measureOwn(ctx, s, &sample, plan)
		return sample, err
	})
}

func (b *bench) measureOwn(ctx context.Context, s *server, sample *Sample, plan load.Plan) error {
	plan = b.complete(plan, s)
	clock := s.stopwatch()
	r, err := load.Run(ctx, plan)
	if err != nil {
		return err
	}
	used, strangers := clock.stop(b.result.Machine.Cores, 0)
	if err := s.stop(); err != nil {
		return err
	}
	sample.Load, sample.Report, sample.StrangersPercent = "own", r, strangers
	sample.Connections, sample.Names, sample.PerRequest = plan.Connections, plan.Names, plan.PerRequest
	sample.Accepted, sample.Refused = r.Counts.Accepted, r.Counts.RefusedAll()
	sample.Acknowledged = r.All.Accepted
	sample.PerSecond = r.AcceptedPerSecond
	sample.cost(used, max(r.All.Accepted, r.All.Answers))
	sample.P50Ms, sample.P99Ms, sample.P999Ms = r.Latency.P50, r.Latency.P99, r.Latency.P999
	sample.Recorded, sample.Void, err = s.check(ctx, r.All.Accepted, r.All.Errors*int64(max(plan.PerRequest, 1)))
	return err
}

// complete fills in what all plans have in common.
func (b *bench) complete(p load.Plan, s *server) load.Plan {
	p.Server, p.Sale, p.Item, p.Seed = s.url, saleID, itemID, b.nextSeed()
	if p.PerRequest > 1 {
		p.Token = s.token
	}
	if p.Duration == 0 {
		p.Duration, p.Warmup = b.measured+b.warmup, b.warmup
	}
	if p.Names == "" {
		p.Names = load.Sequential
	}
	return p
}

// cost shares out what the server has spent.
func (s *Sample) cost(used spent, n int64) {
	s.CPUMicros = perRequest(used.all(), n)
	if len(used) > 1 {
		s.CPUOf = used.each(n)
	}
}

func perRequest(used time.Duration, n int64) float64 {
	if n == 0 {
		return 0
	}
	return float64(used.Microseconds()) / float64(n)
}
