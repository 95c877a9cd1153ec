package locks_test

import (
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
			for line := range strings.Lines(raw.Info(b.Context(), "commandstats").Val()) {
				b.Log(line)
			}
		})
	}
}
