package main

import "context"

// lockRivals are the libraries that bench/locks runs beside package lock. Only
// one with a fence, which each of our locks has, gives the same guarantee.
func lockRivals() []string { return []string{"redsync", "bsm", "bsm+fence"} }

// locks measures package lock on Redis beside the libraries that people use, all
// on one private Redis. Those ask each millisecond when they wait; ours is told.
func (b *bench) locks(ctx context.Context) error {
	times := "3x"
	if b.quick {
		times = "1x"
	}
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
