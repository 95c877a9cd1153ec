package main

import (
	"context"
	"errors"
	"time"

	"rushgate/bench/load"
)

// maximum is the rate that claims found; when that part did not run, a short
// closed loop finds one.
func (b *bench) maximum(ctx context.Context) (float64, error) {
	if b.max > 0 {
		return b.max, nil
	}
	r, err := b.withOwn(ctx, Sample{Part: "maximum", Round: 1, System: sysRushgate}, load.Plan{Mode: load.Closed, Connections: 256})
	if err != nil {
		return 0, err
	}
	b.max = r.AcceptedPerSecond
	return b.max, nil
}

// latency offers half of the maximum, with the random gaps of independent
// buyers, to Rushgate and to the empty handler.
func (b *bench) latency(ctx context.Context) error {
	most, err := b.maximum(ctx)
	if err != nil {
		return err
	}
	for round := range b.rounds {
		for _, system := range []string{sysEmpty, sysRushgate} {
			_, err := b.withOwn(ctx, Sample{Part: "latency", Round: round + 1, System: system},
				load.Plan{Mode: load.Open, Rate: most / 2, Poisson: true, Connections: 256})
			if err != nil {
				return err
			}
		}
	}
	pick := func(system string, of func(*Sample) float64) figure {
		return b.figure(b.pick("latency", system, "own", 256, load.Sequential), of)
	}
	b.plain("offered rate, half of the maximum", figure{value: most / 2}, "/s")
	for _, system := range []string{sysEmpty, sysRushgate} {
		b.plain("p50 at that rate: "+system, pick(system, p50), "ms")
		b.plain("p99 at that rate: "+system, pick(system, p99), "ms")
		b.plain("p99.9 at that rate: "+system, pick(system, p999), "ms")
	}
	b.atMost("p99 at half of the maximum, ÷ empty handler", pick(sysRushgate, p99), pick(sysEmpty, p99), 5)
	return nil
}

// What an overload looks like. There are more connections than the queue of
// the desk is long, as otherwise the queue could never be full.
const (
	overloadConnections = 4096
	overloadQueue       = "2048"
	overloadGiveUp      = time.Second
	overloadP99Ms       = 1000.0 // an answer that takes longer than this was not bounded
	overloadGrowth      = 1.25   // of resident memory, from a third of the time to its end
)

// overload offers three times the maximum and watches answers and memory.
func (b *bench) overload(ctx context.Context) (err error) {
	most, err := b.maximum(ctx)
	if err != nil {
		return err
	}
	s, err := b.start(ctx, sysRushgate, manyUnits, "--queue", overloadQueue)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.end()) }()
	plan := b.complete(load.Plan{Mode: load.Open, Rate: 3 * most, Poisson: true, Connections: overloadConnections,
		Duration: 4 * b.measured, Warmup: b.warmup, GiveUp: overloadGiveUp}, s)
	memory := watch(s, plan.Duration)
	r, runErr := load.Run(ctx, plan)
	early, late := memory()
	if err := errors.Join(runErr, s.stop()); err != nil {
		return err
	}
	sample := Sample{Part: "overload", Round: 1, System: sysRushgate, Load: "own", Connections: plan.Connections, Names: plan.Names,
		PerSecond: r.AcceptedPerSecond, Accepted: r.Counts.Accepted, Refused: r.Counts.RefusedAll(), Acknowledged: r.All.Accepted,
		P50Ms: r.Service.P50, P99Ms: r.Service.P99, P999Ms: r.Service.P999, Report: r}
	sample.Recorded, sample.Void, err = s.check(ctx, r.All.Accepted, r.All.Errors)
	b.add(sample)
	b.overloadRows(&sample, r, early, late)
	return err
}

func (b *bench) overloadRows(sample *Sample, r *load.Report, early, late int64) {
	void := sample.Void
	overloaded := float64(r.Counts.Refused["overloaded"])
	answers := float64(max(r.Counts.Answers, 1))
	b.plain("overload: offered", figure{value: r.OfferedRate, void: void}, "/s")
	b.plain("overload: answered", figure{value: r.AnswersPerSecond, void: void}, "/s")
	b.plain("overload: accepted", figure{value: r.AcceptedPerSecond, void: void}, "/s")
	b.plain("overload: not even sent, all 4096 connections busy", figure{value: 100 * float64(r.Counts.Unsent) / (answers + float64(r.Counts.Unsent)), void: void}, "% of due")
	b.plain("overload: no answer", figure{value: float64(r.Counts.Errors), void: void}, "requests")
	b.bound("overload: answered `overloaded`", figure{value: 100 * overloaded / answers, void: void}, "% of answers", "> 0", overloaded > 0)
	b.bound("overload: p99 of the answers, from when they were sent", figure{value: r.Service.P99, void: void}, "ms", "≤ 1000", r.Service.P99 <= overloadP99Ms)
	grown := float64(late) / float64(max(early, 1))
	b.plain("overload: resident memory at the end", figure{value: float64(late) / (1 << 20), void: void}, "MiB")
	b.bound("overload: growth of it over the last two thirds", figure{value: grown, void: void}, "×", "≤ 1.25", grown <= overloadGrowth)
}

// watch looks at a server's memory after a third of d, and again when it is
// called.
func watch(s *server, d time.Duration) func() (early, late int64) {
	third := make(chan int64, 1)
	timer := time.AfterFunc(d/3, func() { third <- s.resident() })
	return func() (int64, int64) {
		late := s.resident()
		if timer.Stop() {
			return late, late
		}
		return <-third, late
	}
}
