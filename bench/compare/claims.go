package main

import (
	"context"

	"rushgate/bench/load"
)

// claims measures how many claims a second each system takes, with users in
// order and, for Rushgate, also with users from everywhere.
func (b *bench) claims(ctx context.Context) error {
	for round := range b.rounds {
		for _, connections := range connectionCounts() {
			for _, sample := range []Sample{
				{System: sysEmpty, Names: load.Sequential},
				{System: sysRushgate, Names: load.Sequential},
				{System: sysRedis, Names: load.Sequential},
				{System: sysRushgate, Names: load.Random},
				{System: sysSQLRow, Names: load.Sequential},
			} {
				sample.Part, sample.Round, sample.Connections = "claims", round+1, connections
				if err := b.withWrk(ctx, sample, manyUnits); err != nil {
					return err
				}
			}
		}
		// The same with our own generator, which waits for the last answer, so
		// that the books must agree to the claim.
		for _, system := range []string{sysEmpty, sysRushgate} {
			_, err := b.withOwn(ctx, Sample{Part: "claims", Round: round + 1, System: system},
				load.Plan{Mode: load.Closed, Connections: 256})
			if err != nil {
				return err
			}
		}
	}
	b.max = b.median(b.pick("claims", sysRushgate, "wrk", 256, load.Sequential), perSecond)
	b.claimRows()
	return nil
}

func (b *bench) claimRows() {
	rate := func(system string, connections int, names load.Names) figure {
		return b.figure(b.pick("claims", system, "wrk", connections, names), perSecond)
	}
	for _, connections := range connectionCounts() {
		empty, rush := rate(sysEmpty, connections, load.Sequential), rate(sysRushgate, connections, load.Sequential)
		least := 0.60
		if connections == 64 {
			least = 0.42
		}
		b.atLeast(rowf("durable claims, %d connections, ÷ empty handler", connections), rush, empty, least)
		b.atLeast(rowf("… ÷ redis script, not durable (%d)", connections), rush, rate(sysRedis, connections, load.Sequential), 1.5)
		b.inform(rowf("… ÷ sqlite row by row, durable (%d)", connections), rush, rate(sysSQLRow, connections, load.Sequential))
		b.inform(rowf("random users, %d connections, ÷ empty handler", connections), rate(sysRushgate, connections, load.Random), empty)
	}
	own := func(system string) figure {
		return b.figure(b.pick("claims", system, "own", 256, load.Sequential), perSecond)
	}
	b.inform("own generator, 256 connections, ÷ empty handler", own(sysRushgate), own(sysEmpty))
	for _, system := range []string{sysEmpty, sysRushgate, sysRedis, sysSQLRow} {
		f := b.figure(b.pick("claims", system, "wrk", 256, load.Sequential), cpuMicros)
		b.plain(rowf("CPU of a claim, 256 connections: %s", system), f, "µs")
	}
}

// refusals measures how quickly those are told who come too late: the only
// unit is gone in the warm-up.
func (b *bench) refusals(ctx context.Context) error {
	for round := range b.rounds {
		for _, connections := range connectionCounts() {
			for _, system := range []string{sysEmpty, sysRushgate} {
				stock := int64(1)
				if system == sysEmpty {
					stock = manyUnits
				}
				sample := Sample{Part: "refusals", Round: round + 1, System: system, Connections: connections, Names: load.Sequential}
				if err := b.withWrk(ctx, sample, stock); err != nil {
					return err
				}
			}
		}
	}
	for _, connections := range connectionCounts() {
		rush := b.figure(b.pick("refusals", sysRushgate, "wrk", connections, load.Sequential), perSecond)
		empty := b.figure(b.pick("refusals", sysEmpty, "wrk", connections, load.Sequential), perSecond)
		b.atLeast(rowf("refusals after sold out, %d connections, ÷ empty handler", connections), rush, empty, 0.85)
	}
	f := b.figure(b.pick("refusals", sysRushgate, "wrk", 256, load.Sequential), cpuMicros)
	b.plain("CPU of a refusal, 256 connections: rushgate", f, "µs")
	return nil
}
