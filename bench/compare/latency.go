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
	s, err := b.withOwn(ctx, Sample{Part: "maximum", Round: 1, System: sysRushgate}, load.Plan{Mode: load.Closed, Connections: 256})
	if err != nil {
		return 0, err
	}
	b.max = s.PerSecond
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
	overloadConnections = 8192
	overloadQueue       = "2048"
	overloadGiveUp      = time.Second
	overloadP99Ms       = 1000.0 // an answer that takes longer than this was not bounded
	// What the gate remembers of a buyer, and as much again for the garbage
	// collector (app.TuneMemory gives it half): memory may grow by that for
	// each claim that was accepted, and by nothing else.
	overloadGrowth = 2.0 * gateBytes
)

// overload offers three times the maximum and watches answers and memory.
func (b *bench) overload(ctx context.Context) error {
	most, err := b.maximum(ctx)
	if err != nil {
		return err
	}
	var early, late int64
	sample, err := b.quietly(func() (_ Sample, err error) {
		sample := Sample{Part: "overload", Round: 1, System: sysRushgate}
		s, err := b.start(ctx, sysRushgate, manyUnits, "--queue", overloadQueue)
		if err != nil {
			return sample, err
		}
		defer func() { err = errors.Join(err, s.end()) }()
		plan := load.Plan{Mode: load.Open, Rate: 3 * most, Poisson: true, Connections: overloadConnections,
			Duration: b.overloadTime(), Warmup: b.warmup, GiveUp: overloadGiveUp}
		memory := watch(s, plan.Duration)
		err = b.measureOwn(ctx, s, &sample, plan)
		early, late = memory()
		return sample, err
	})
	if err != nil {
		return err
	}
	b.overloadRows(sample, early, late)
	return nil
}

// overloadTime is long enough for caches to be full at the first look at the
// memory.
func (b *bench) overloadTime() time.Duration { return max(4*b.measured, 12*time.Second) }

func (b *bench) overloadRows(sample *Sample, early, late int64) {
	r, void := sample.Report, sample.Void
	overloaded := float64(r.Counts.Refused["overloaded"])
	answers := float64(max(r.Counts.Answers, 1))
	b.plain("overload: offered", figure{value: r.OfferedRate, void: void}, "/s")
	b.plain("overload: answered", figure{value: r.AnswersPerSecond, void: void}, "/s")
	b.plain("overload: accepted", figure{value: r.AcceptedPerSecond, void: void}, "/s")
	b.plain(rowf("overload: not even sent, all %d connections busy", overloadConnections), figure{value: 100 * float64(r.Counts.Unsent) / (answers + float64(r.Counts.Unsent)), void: void}, "% of due")
	b.plain("overload: no answer", figure{value: float64(r.Counts.Errors), void: void}, "requests")
	b.bound("overload: answered `overloaded`", figure{value: 100 * overloaded / answers, void: void}, "% of answers", "> 0", overloaded > 0)
	b.bound("overload: p99 of the answers, from when they were sent", figure{value: r.Service.P99, void: void}, "ms", "≤ 1000", r.Service.P99 <= overloadP99Ms)
	b.plain("overload: resident memory at the end", figure{value: float64(late) / (1 << 20), void: void}, "MiB")
	sold := r.AcceptedPerSecond * (lateLook - earlyLook) * b.overloadTime().Seconds()
	grown := float64(late-early) / max(sold, 1)
	b.bound("overload: growth of it for each claim accepted meanwhile", figure{value: grown, void: void}, "bytes", rowf("≤ %.0f", overloadGrowth), grown <= overloadGrowth)
}

// The moments of the two looks at the memory, as shares of the time.
const (
	earlyLook = 0.33
	lateLook  = 0.95
)

// watch looks at a server's memory after a third of d and shortly before its
// end; by the first look buffers and caches are warm. The returned function waits for the second look.
func watch(s *server, d time.Duration) func() (early, late int64) {
	var looks [2]chan int64
	for i, at := range []float64{earlyLook, lateLook} {
		looks[i] = make(chan int64, 1)
		time.AfterFunc(time.Duration(at*float64(d)), func() { looks[i] <- s.resident() })
	}
	return func() (int64, int64) { return <-looks[0], <-looks[1] }
}
