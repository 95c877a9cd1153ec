package rushgate_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"rushgate"
	"rushgate/gate/memory"
	"rushgate/ledger/sqlite"
)

// The whole engine without HTTP: memory gate, SQLite with fsync, new users all
// the time, a hold of 15 minutes.

func newEngine(b *testing.B) *rushgate.Service {
	b.Helper()
	ledger, err := sqlite.Open(ctx, b.TempDir(), sqlite.Options{})
	if err != nil {
		b.Fatal(err)
	}
	shop, err := rushgate.Open(ctx, rushgate.Config{Gate: memory.New(), Ledger: ledger})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { shop.Close(ctx); ledger.Close() })
	if _, err := shop.CreateSale(ctx, rushgate.Sale{ID: "phones", PerUser: 1, Hold: 15 * time.Minute,
		Items: []rushgate.Item{{ID: "black", Stock: rushgate.MaxStock}}}); err != nil {
		b.Fatal(err)
	}
	return shop
}

// BenchmarkClaim claims one by one from 256 goroutines for each processor.
func BenchmarkClaim(b *testing.B) {
	shop := newEngine(b)
	var users atomic.Int64
	b.SetParallelism(256)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			r := rushgate.ClaimRequest{Sale: "phones", User: fmt.Sprintf("user-%09d", users.Add(1))}
			if _, err := shop.Claim(ctx, r); err != nil {
				b.Error(err)
				return
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "claims/s")
}

// BenchmarkClaimBatch claims 500 at a time from 4 goroutines for each processor.
func BenchmarkClaimBatch(b *testing.B) {
	const size = 500
	shop := newEngine(b)
	var users atomic.Int64
	b.SetParallelism(4)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		requests := make([]rushgate.ClaimRequest, size)
		for pb.Next() {
			for i := range requests {
				requests[i] = rushgate.ClaimRequest{Sale: "phones", User: fmt.Sprintf("user-%09d", users.Add(1))}
			}
			results, err := shop.ClaimBatch(ctx, requests)
			if err != nil {
				b.Error(err)
				return
			}
			for i := range results {
				if results[i].Err != nil {
					b.Error(results[i].Err)
					return
				}
			}
		}
	})
	b.ReportMetric(float64(b.N*size)/b.Elapsed().Seconds(), "claims/s")
}

// BenchmarkRefusal is what nearly everybody in a stampede gets.
func BenchmarkRefusal(b *testing.B) {
	shop := newEngine(b)
	if _, err := shop.Restock(ctx, "phones", "black", -rushgate.MaxStock); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := shop.Claim(ctx, rushgate.ClaimRequest{Sale: "phones", User: "ann"}); rushgate.CodeOf(err) != rushgate.SoldOut {
				b.Error(err)
				return
			}
		}
	})
}
