package redis_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"rushgate"
	"rushgate/gate/redis"
	"rushgate/internal/testenv"
)

func cpuOf(pid int) time.Duration {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	f := strings.Fields(string(b)[strings.LastIndexByte(string(b), ')')+2:])
	u, _ := strconv.Atoi(f[11])
	s, _ := strconv.Atoi(f[12])
	return time.Duration(u+s) * 10 * time.Millisecond
}
func self() time.Duration {
	var r syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &r)
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

func BenchmarkCPU(b *testing.B) {
	for _, batch := range []int{64, 256, 1000} {
		b.Run(fmt.Sprint(batch), func(b *testing.B) {
			s, err := testenv.StartRedis(b.TempDir())
			if err != nil {
				b.Fatal(err)
			}
			defer s.Stop()
			g := open(b, s.URL(), redis.Options{Journal: 1 << 22})
			defer g.Close()
			sale := &rushgate.Sale{ID: "sale", PerUser: 1, Epoch: 1, Version: 1, Shards: 1, Ack: rushgate.Recorded}
			if err := g.Load(b.Context(), rushgate.Snapshot{Sale: sale, Stock: []rushgate.Stock{{Item: "a", Total: 1 << 40}},
				Claims: func(func(rushgate.Claim, error) bool) {}}); err != nil {
				b.Fatal(err)
			}
			asks, out := make([]rushgate.Ask, batch), make([]rushgate.Decision, batch)
			claims := make([]rushgate.Claim, batch)
			var claimR, claimG, settleR, settleG time.Duration
			r0, g0 := cpuOf(s.PID()), self()
			n := 0
			for ; n < b.N; n += batch {
				for i := range asks {
					asks[i] = rushgate.Ask{ID: rushgate.ID(4e17 + n + i), Sale: "sale", Item: "a", User: "user-" + strconv.Itoa(10_000_000+n+i), Quantity: 1}
				}
				g.Claim(b.Context(), time.Now(), asks, out)
				r1, g1 := cpuOf(s.PID()), self()
				for i := range asks {
					claims[i] = rushgate.Claim{ID: asks[i].ID, Sale: "sale", Item: "a", User: asks[i].User, Quantity: 1}
				}
				g.Settle(b.Context(), claims)
				settleR += cpuOf(s.PID()) - r1
				settleG += self() - g1
			}
			claimR, claimG = cpuOf(s.PID())-r0-settleR, self()-g0-settleG
			b.ReportMetric(float64(claimR.Nanoseconds())/float64(n), "claim-redis-ns")
			b.ReportMetric(float64(claimG.Nanoseconds())/float64(n), "claim-go-ns")
			b.ReportMetric(float64(settleR.Nanoseconds())/float64(n), "settle-redis-ns")
			b.ReportMetric(float64(settleG.Nanoseconds())/float64(n), "settle-go-ns")
		})
	}
}
