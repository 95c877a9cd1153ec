package main

import "context"

// lockRivals are the libraries that bench/locks runs beside package lock. Only
// one with a fence, which each of our locks has, gives the same guarantee.
func lockRivals() []string { return []string{"redsync", "bsm", "bsm+fence"} }

// locks measures package lock beside what people use for locks, each on one
// private server.
func (b *bench) locks(ctx context.Context) error {
	times := "3x"
	if b.quick {
		times = "1x"
	}
	if err := b.locksInRedis(ctx, times); err != nil {
		return err
	}
	if err := b.locksInPostgres(ctx, times); err != nil {
		return err
	}
	return b.locksOverThree(ctx, times)
}

// locksOverThree measures a Redlock beside redsync's, without a fence and with
// the least of one, by locks and by changes of hands: where nobody stands in a
// line, whoever unlocks mostly gets the lock again.
func (b *bench) locksOverThree(ctx context.Context, times string) error {
	m, err := b.gobench(ctx, "rushgate/bench/locks", "BenchmarkRedlock", times)
	if err != nil {
		return err
	}
	for _, load := range []string{"uncontended=1", "contended=4", "contended=64"} {
		name := func(system, unit string) string { return "Redlock/" + load + "/" + system + " " + unit }
		f, err := m.figures(name("rushgate", "locks/s"), name("redsync", "locks/s"), name("redsync+fence", "locks/s"),
			name("rushgate", "hands/s"), name("redsync", "hands/s"), name("redsync+fence", "hands/s"))
		if err != nil {
			return err
		}
		b.plain("Redlock over three Redis ("+load+")", f[0], "/s")
		b.inform("… ÷ redsync, which has no fence", f[0], f[1])
		b.inform("… ÷ redsync+fence, which is not written back", f[0], f[2])
		if load != "uncontended=1" {
			b.inform("… changes of hands ÷ redsync", f[3], f[4])
			b.inform("… changes of hands ÷ redsync+fence", f[3], f[5])
		}
	}
	return nil
}

// locksInPostgres measures them beside a row for each lock by hand, which has a
// lease and a fence, but nobody is told; and beside advisory locks, which are not the
// same: they write nothing, have no lease, and end with a connection without a word
// to who relies on them. What ours cost more is the disk.
func (b *bench) locksInPostgres(ctx context.Context, times string) error {
	m, err := b.gobench(ctx, "rushgate/bench/locks", "BenchmarkPostgres", times)
	if err != nil {
		return err
	}
	for _, load := range []string{"uncontended=1", "uncontended=16", "contended=16"} {
		name := func(system string) string { return "Postgres/" + load + "/" + system + " locks/s" }
		f, err := m.figures(name("rushgate"), name("row"), name("advisory"), name("advisory+fence"))
		if err != nil {
			return err
		}
		b.plain("Lock and unlock in PostgreSQL ("+load+")", f[0], "/s")
		b.inform("… ÷ a row by hand, for which one asks again and again", f[0], f[1])
		b.inform("… ÷ advisory, which has no lease and no fence", f[0], f[2])
		b.inform("… ÷ advisory+fence, which has no lease", f[0], f[3])
	}
	return nil
}

// locksInRedis measures them beside the libraries that people use. Those ask each
// millisecond when they wait; ours is told.
func (b *bench) locksInRedis(ctx context.Context, times string) error {
	m, err := b.gobench(ctx, "rushgate/bench/locks", "BenchmarkLocks", times)
	if err != nil {
		return err
	}
	for _, load := range []struct{ name, what string }{
		{"uncontended=1", "Lock and unlock, one goroutine"},
		{"uncontended=64", "Lock and unlock, 64 goroutines with a key each"},
		{"contended=16", "One key, 16 goroutines: changes of hands"},
	} {
		unit := " locks/s"
		if load.name == "contended=16" {
			unit = " hands/s"
		}
		ours, err := m.figures("Locks/" + load.name + "/rushgate" + unit)
		if err != nil {
			return err
		}
		b.plain(load.what, ours[0], "/s")
		for _, rival := range lockRivals() {
			theirs, err := m.figures("Locks/" + load.name + "/" + rival + unit)
			if err != nil {
				return err
			}
			if what := "… ÷ " + rival + " (" + load.name + ")"; rival == "bsm" {
				b.inform(what+", which has no fence", ours[0], theirs[0])
			} else {
				b.atLeast(what, ours[0], theirs[0], 1)
			}
		}
	}
	return nil
}
