package main

import "context"

const limitsPackage = "rushgate/bench/limits"

// limitLoads are those of bench/limits.
func limitLoads() []struct{ name, says string } {
	return []struct{ name, says string }{
		{"hot", "one key, granted"}, {"refused", "one key, refused"}, {"many", "20,000 keys"},
	}
}

// limits measures package limit beside the libraries that people use now: in
// memory, and on the same private Redis.
func (b *bench) limits(ctx context.Context) error {
	memory, err := b.gobench(ctx, limitsPackage, "^BenchmarkMemory$", "200ms")
	if err != nil {
		return err
	}
	if err := b.besides(memory, "Memory", "limit in memory", []string{"xtime", "throttled"}); err != nil {
		return err
	}
	redis, err := b.gobench(ctx, limitsPackage, "^BenchmarkRedis$", "400ms")
	if err != nil {
		return err
	}
	if err := b.besides(redis, "Redis", "limit in Redis", []string{"redis_rate"}); err != nil {
		return err
	}
	return b.limitBytes(ctx)
}

// besides adds the ratio of ours to each library, for each load.
func (b *bench) besides(m medians, where, what string, libraries []string) error {
	for _, load := range limitLoads() {
		for _, callers := range []int{1, 64} {
			name := func(library string) string {
				return rowf("%s/%s/callers=%d/%s decisions/s", where, load.name, callers, library)
			}
			for _, library := range libraries {
				f, err := m.figures(name("ours"), name(library))
				if err != nil {
					return err
				}
				b.atLeast(rowf("%s, %s, %d callers ÷ %s", what, load.says, callers, library), f[0], f[1], 1)
			}
		}
	}
	return nil
}

// limitBytes measures the memory of a million keys that are in use.
func (b *bench) limitBytes(ctx context.Context) error {
	m, err := b.gobench(ctx, limitsPackage, "^BenchmarkBytes$", "1x")
	if err != nil {
		return err
	}
	f, err := m.figures("Bytes/ours bytes/key", "Bytes/xtime bytes/key", "Bytes/throttled bytes/key")
	if err != nil {
		return err
	}
	b.atMost("memory of a limit in memory ÷ xtime, a million keys of 13 bytes", f[0], f[1], 1)
	b.atMost("memory of a limit in memory ÷ throttled, a million keys of 13 bytes", f[0], f[2], 1)
	return nil
}
