package redis_test

import (
	"fmt"
	"os"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"rushgate"
	"rushgate/gate/gatetest"
	"rushgate/gate/redis"
	"rushgate/internal/testenv"
)

func BenchmarkGate(b *testing.B) { gatetest.Bench(b, factory()) }

// BenchmarkDecisions measures decisions per second with several batches on
// their way at once, as several nodes have them: nearly all granted, each to a
// user of its own; and nearly all refused, by Redis.
func BenchmarkDecisions(b *testing.B) {
	for _, batch := range []int{64, 256, 1000} {
		b.Run(fmt.Sprintf("granted/batch=%d", batch), func(b *testing.B) { decisions(b, batch, rushgate.MaxStock, false) })
		b.Run(fmt.Sprintf("granted+settled/batch=%d", batch), func(b *testing.B) { decisions(b, batch, rushgate.MaxStock, true) })
		b.Run(fmt.Sprintf("refused/batch=%d", batch), func(b *testing.B) { decisions(b, batch, 1000, false) })
	}
	b.Run("classic", classic)
}

func decisions(b *testing.B, batch int, stock int64, settle bool) {
	server := testenv.Redis(b)
	g := open(b, server.URL(), redis.Options{Journal: 1 << 22})
	defer g.Close()
	sale := &rushgate.Sale{ID: "sale", PerUser: 1, Epoch: 1, Version: 1, Shards: 1, Ack: rushgate.Recorded}
	snap := rushgate.Snapshot{Sale: sale, Stock: []rushgate.Stock{{Item: "a", Total: stock}},
		Claims: func(func(rushgate.Claim, error) bool) {}}
	if err := g.Load(b.Context(), snap); err != nil {
		b.Fatal(err)
	}
	var next, granted atomic.Int64
	before := processorTime(b, server.PID())
	b.SetParallelism(2)
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		asks, out := make([]rushgate.Ask, 0, batch), make([]rushgate.Decision, batch)
		claims := make([]rushgate.Claim, 0, batch)
		flush := func() {
			if err := g.Claim(b.Context(), time.Now(), asks, out[:len(asks)]); err != nil {
				b.Error(err)
			}
			claims = claims[:0]
			for i := range asks {
				if out[i].Code == rushgate.Granted {
					a := &asks[i]
					claims = append(claims, rushgate.Claim{ID: a.ID, Sale: a.Sale, Item: a.Item, User: a.User, Quantity: 1})
				}
			}
			granted.Add(int64(len(claims)))
			if settle {
				if err := g.Settle(b.Context(), claims); err != nil {
					b.Error(err)
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
	if want := min(stock, int64(b.N)); granted.Load() != want {
		b.Fatalf("granted %d, want %d", granted.Load(), want)
	}
	report(b, processorTime(b, server.PID())-before)
}

// report says how many decisions there were in a second, and what each cost Redis.
func report(b *testing.B, used time.Duration) {
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "decisions/s")
	b.ReportMetric(float64(used.Nanoseconds())/1000/float64(b.N), "redis-us/decision")
}

// classic is the fair way without batches: one EVALSHA for each claim, through
// the same client, which pipelines what many goroutines want at the same time.
func classic(b *testing.B) {
	lua, err := os.ReadFile("../../bench/baseline/claim.lua")
	if err != nil {
		b.Fatal(err)
	}
	server := testenv.Redis(b)
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{server.Addr}, DisableCache: true})
	if err != nil {
		b.Fatal(err)
	}
	defer client.Close()
	ctx := b.Context()
	if err := client.Do(ctx, client.B().Set().Key("stock").Value("100000000").Build()).Error(); err != nil {
		b.Fatal(err)
	}
	sha, err := client.Do(ctx, client.B().ScriptLoad().Script(string(lua)).Build()).ToString()
	if err != nil {
		b.Fatal(err)
	}
	var next atomic.Int64
	before := processorTime(b, server.PID())
	b.SetParallelism(128)
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			id := strconv.FormatInt(4e17+next.Add(1), 10)
			n, err := client.Do(ctx, client.B().Evalsha().Sha1(sha).Numkeys(3).Key("stock", "users", "orders").
				Arg("user-"+id[10:], "a", id).Build()).AsInt64()
			if err != nil || n > 1 && b.N < 1e8 {
				b.Errorf("%d, %v", n, err)
				return
			}
		}
	})
	report(b, processorTime(b, server.PID())-before)
}
