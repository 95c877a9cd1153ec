package main

import (
	"context"
	"os"
	"path/filepath"

	"rushgate/bench/load"
	"rushgate/internal/testenv"
)

// database is the name of the PostgreSQL database of a measurement.
const database = "rushgate"

// cluster starts PostgreSQL, which syncs every commit, Redis, which keeps
// nothing, and one node on both.
func (s *server) cluster(ctx context.Context, b *bench, stock int64, flags []string) error {
	dirs := [2]string{filepath.Join(s.data, "postgres"), filepath.Join(s.data, "redis")}
	for _, dir := range dirs {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	if err := os.Chmod(s.data, 0o755); err != nil { // PostgreSQL's user passes through
		return err
	}
	pg, err := testenv.StartPostgres(dirs[0])
	if err != nil {
		return err
	}
	remove := s.ends[0]
	s.ends[0] = func() error { pg.Stop(); return remove() } // the books are read from it
	s.postgres = pg
	if err := pg.CreateDatabase(database); err != nil {
		return err
	}
	if s.gate, err = testenv.StartRedis(dirs[1]); err != nil {
		return err
	}
	s.ends = append(s.ends, func() error { s.gate.Stop(); return nil })
	s.parts = append(s.parts, process{procPostgres, pg.PID()}, process{procRedis, s.gate.PID()})
	return s.rushgate(ctx, b, stock, append(flags, "--ledger", pg.URL(database), "--gate", s.gate.URL()))
}

// clusterClaims measures a whole cluster on one machine, which records every
// claim in PostgreSQL, against the Redis script, which records nothing; and its
// refusals against those of a server on one machine.
func (b *bench) clusterClaims(ctx context.Context) error {
	for round := range b.rounds {
		for _, connections := range connectionCounts() {
			for _, system := range []string{sysRedis, sysCluster} {
				sample := Sample{Part: "cluster", Round: round + 1, System: system, Connections: connections, Names: load.Sequential}
				if err := b.withWrk(ctx, sample, manyUnits); err != nil {
					return err
				}
			}
		}
		for _, system := range []string{sysRushgate, sysCluster} {
			sample := Sample{Part: "cluster refusals", Round: round + 1, System: system, Connections: 256, Names: load.Sequential}
			if err := b.withWrk(ctx, sample, 1); err != nil {
				return err
			}
		}
	}
	for _, connections := range connectionCounts() {
		rate := func(system string) figure {
			return b.figure(b.pick("cluster", system, "wrk", connections, load.Sequential), perSecond)
		}
		b.atLeast(rowf("Redis gate + PostgreSQL, recorded, %d connections, ÷ redis script, not durable", connections), rate(sysCluster), rate(sysRedis), 1.2)
	}
	refused := func(system string) figure {
		return b.figure(b.pick("cluster refusals", system, "wrk", 256, load.Sequential), perSecond)
	}
	b.atLeast("refusals after sold out, Redis gate ÷ memory gate", refused(sysCluster), refused(sysRushgate), 0.9)
	for _, part := range []struct{ name, of string }{{"cluster", "claim"}, {"cluster refusals", "refusal"}} {
		samples := b.pick(part.name, sysCluster, "wrk", 256, load.Sequential)
		b.plain("CPU of a "+part.of+", 256 connections: node, Redis and PostgreSQL together", b.figure(samples, cpuMicros), "µs")
		for _, process := range []string{procNode, procRedis, procPostgres} {
			b.plain("… "+process, b.figure(samples, func(s *Sample) float64 { return s.CPUOf[process] }), "µs")
		}
	}
	return nil
}
