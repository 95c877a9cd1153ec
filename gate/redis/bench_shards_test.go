package redis_test

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"rushgate"
	"rushgate/gate/redis"
	"rushgate/internal/testenv"
)

// BenchmarkShards sells one stock in 1, 2 and 4 shards on a Redis Cluster of 4
// masters, in batches of 256, and reports what a claim costs the servers
// together. On a machine with few cores it shows the cost of shards, not their
// gain: that is a core of Redis each.
func BenchmarkShards(b *testing.B) {
	group := testenv.RedisCluster(b, 4, 0)
	url := "redis://" + strings.Join(group.Addrs(), ",")
	for _, shards := range []int{1, 2, 4} {
		b.Run(fmt.Sprint("shards=", shards), func(b *testing.B) {
			sellInShards(b, url, shards, func() (used time.Duration) {
				for _, s := range group.Servers {
					used += processorTime(b, s.PID())
				}
				return used
			})
		})
	}
}

func sellInShards(b *testing.B, url string, shards int, cpu func() time.Duration) {
	const batch = 256
	g := open(b, url, redis.Options{Journal: 1 << 22, Prefix: fmt.Sprintf("s%d-%d:", shards, b.N)})
	defer g.Close()
	sale := &rushgate.Sale{ID: "sale", PerUser: 1, Epoch: 1, Version: 1, Shards: shards, Ack: rushgate.Recorded}
	err := g.Load(b.Context(), rushgate.Snapshot{Sale: sale, Stock: []rushgate.Stock{{Item: "a", Total: rushgate.MaxStock}},
		Claims: func(func(rushgate.Claim, error) bool) {}})
	if err != nil {
		b.Fatal(err)
	}
	var next atomic.Int64
	before := cpu()
	b.SetParallelism(2)
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		asks, out := make([]rushgate.Ask, 0, batch), make([]rushgate.Decision, batch)
		flush := func() {
			if err := g.Claim(b.Context(), time.Now(), asks, out[:len(asks)]); err != nil {
				b.Error(err)
			}
			for i := range asks {
				if out[i].Code != rushgate.Granted {
					b.Errorf("%+v", out[i])
				}
			}
			asks = asks[:0]
		}
		for pb.Next() {
			id := next.Add(1)
			asks = append(asks, rushgate.Ask{ID: rushgate.ID(4e17 + id), Sale: "sale", Item: "a",
				User: "user-" + strconv.FormatInt(10_000_000+id, 10), Quantity: 1})
			if len(asks) == batch {
				flush()
			}
		}
		flush()
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "decisions/s")
	b.ReportMetric(float64((cpu()-before).Microseconds())/float64(b.N), "redis-us/claim")
}

// processorTime is what a process has used so far, from /proc/PID/stat: after
// the name in parentheses come state, 10 numbers, and then user and system time
// in hundredths of a second.
func processorTime(b *testing.B, pid int) time.Duration {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		b.Fatal(err)
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	user, _ := strconv.ParseInt(fields[11], 10, 64)
	system, _ := strconv.ParseInt(fields[12], 10, 64)
	return time.Duration(user+system) * 10 * time.Millisecond
}
