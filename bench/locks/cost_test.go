package locks_test

import (
	"strconv"
	"strings"
	"testing"

	"rushgate/internal/testenv"
)

// BenchmarkServerCost reports what a lock and its unlock cost Redis itself.
func BenchmarkServerCost(b *testing.B) {
	server := testenv.Redis(b)
	for _, s := range systems(b, server.Addr) {
		b.Run(s.name, func(b *testing.B) {
			raw := classic(b, server.Addr)
			raw.ConfigResetStat(b.Context())
			for b.Loop() {
				unlock, err := s.take(b.Context(), "k")
				if err != nil {
					b.Fatal(err)
				}
				if err := unlock(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(spent(raw.Info(b.Context(), "commandstats").Val())/float64(b.N), "redis-us/lock")
		})
	}
}

// spent sums up the time of the commands that clients sent, in µs. What a script
// calls is part of its own time.
func spent(stats string) (us float64) {
	for line := range strings.Lines(stats) {
		name, rest, _ := strings.Cut(line, ":")
		if name != "cmdstat_eval" && name != "cmdstat_evalsha" {
			continue
		}
		for field := range strings.SplitSeq(rest, ",") {
			if digits, ok := strings.CutPrefix(field, "usec="); ok {
				n, _ := strconv.ParseFloat(digits, 64)
				us += n
			}
		}
	}
	return us
}
