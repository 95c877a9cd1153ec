package main

import "context"

// plainly is what package once does, the plain command or statement that people
// write for it, and the ratio that it must reach, 0 for none: those that
// promise less than ours, or another thing, are there to be seen.
type plainly struct {
	what, ours, plain string
	atLeast           float64
}

// once measures package once on Redis and in SQL, in turns with the plain ways, and
// what a million users take in Redis.
func (b *bench) once(ctx context.Context) error {
	redis, sql := "6400x", "1000x"
	if b.quick {
		redis, sql = "1280x", "200x"
	}
	m, err := b.gobench(ctx, "rushgate/once/redis", "BenchmarkOnce", redis)
	if err == nil {
		err = b.beside(m, "Once", redisOnce())
	}
	if err != nil {
		return err
	}
	if m, err = b.gobench(ctx, "rushgate/once/sql", "BenchmarkOnce", sql); err != nil {
		return err
	}
	for _, at := range []string{"postgres", "mariadb"} {
		if err := b.beside(m, "Once/"+at, sqlOnce(at)); err != nil {
			return err
		}
	}
	return b.onceMemory(ctx)
}

func redisOnce() []plainly {
	return []plainly{
		{"once on Redis: First in a set ÷ SADD", "First-set", "SADD", 0.9},
		{"… First in a set ÷ SETNX, go-redis", "First-set", "goredis-SETNX", 1},
		{"… First in a hash ÷ SETNX", "First-hash", "SETNX", 0.9},
		{"… First in a bitmap ÷ SETNX", "First-bitmap", "SETNX", 0.9},
		{"… First in a bitmap ÷ SETBIT (one string, of any size)", "First-bitmap", "SETBIT", 0},
		{"… FirstEach of 1000 ÷ a pipeline of SADD", "FirstEach-1000-set", "SADD-each-1000", 0},
		{"… Do, first ÷ SETNX and SET (no token, no waiting, no check of the owner)", "Do", "SETNX+SET", 0},
		{"… Do, again ÷ GET", "Do-again", "GET", 0},
		{"… a toggle ÷ SADD (no order, no count)", "Apply", "SADD", 0},
	}
}

func sqlOnce(at string) []plainly {
	return []plainly{
		{"once on " + at + ": First ÷ a plain INSERT", "First", "INSERT", 0.9},
		{"… FirstEach of 100 ÷ a plain INSERT of 100 (does not tell which)", "FirstEach-100", "INSERT-100", 0},
		{"… DoTx ÷ a transaction by hand (no result, no failures)", "DoTx", "tx", 0},
		{"… Do ÷ a plain INSERT (no result)", "Do", "INSERT", 0},
	}
}

// beside adds the rows of what was measured in turns.
func (b *bench) beside(m medians, name string, rows []plainly) error {
	for _, row := range rows {
		f, err := m.figures(name+" "+row.ours+"/s", name+" "+row.plain+"/s")
		if err != nil {
			return err
		}
		if row.atLeast > 0 {
			b.atLeast(row.what, f[0], f[1], row.atLeast)
		} else {
			b.inform(row.what, f[0], f[1])
		}
	}
	return nil
}

// onceMemory measures what a million users take in Redis, once: it is not a
// matter of time.
func (b *bench) onceMemory(ctx context.Context) error {
	said, err := b.benchmark(ctx, "rushgate/once/redis", "BenchmarkMemory", "1x")
	if err != nil {
		return err
	}
	m := medians(metrics(said))
	for _, kind := range onceKinds() {
		f, err := m.figures("Memory/" + kind + " MB/million")
		if err != nil {
			return err
		}
		b.plain("once on Redis, a million users: "+kind, f[0], "MB")
	}
	return nil
}

func onceKinds() []string {
	return []string{"set/dense", "set/random", "set/string", "hash/dense", "hash/random", "hash/string", "hash+tag/random",
		"bitmap/dense", "toggles/random", "records/random"}
}
