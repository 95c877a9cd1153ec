package gatetest

import (
	"fmt"
	"testing"
	"time"

	"rushgate"
)

// benchUsers is how many users take part before a sale starts anew.
const benchUsers = 1_000_000

// Bench measures a gate: claims in batches of several sizes, each by a user of
// its own; refusals by Peek when all is gone; and the load of a million claims.
// Every figure is per claim or per ask.
func Bench(b *testing.B, f Factory) {
	users := make([]string, benchUsers)
	for i := range users {
		users[i] = fmt.Sprintf("user-%08d", i)
	}
	for _, batch := range []int{1, 64, 256, 1024} {
		b.Run(fmt.Sprintf("Claim/batch=%d", batch), func(b *testing.B) { benchClaim(b, f, users, batch, false) })
	}
	b.Run("ClaimWithKey/batch=256", func(b *testing.B) { benchClaim(b, f, users, 256, true) })
	b.Run("PeekSoldOut", func(b *testing.B) { benchPeek(b, f, users, "") })
	b.Run("PeekSoldOutWithKey", func(b *testing.B) { benchPeek(b, f, users, "key") })
	b.Run("Load1M", func(b *testing.B) { benchLoad(b, f, users) })
}

// bare is a sale of limit 1 with one item "a".
func bare(epoch, stock int64) (*rushgate.Sale, rushgate.Stock) {
	return &rushgate.Sale{ID: "sale", PerUser: 1, Epoch: epoch, Version: 1, Shards: 1}, rushgate.Stock{Item: "a", Total: stock}
}

func benchGate(b *testing.B, f Factory, stock int64) rushgate.Gate {
	b.Helper()
	g := f.New(b)
	b.Cleanup(func() { g.Close() })
	sale, row := bare(1, stock)
	if err := g.Load(b.Context(), snapshot(sale, nil, row)); err != nil {
		b.Fatal(err)
	}
	return g
}

func benchClaim(b *testing.B, f Factory, users []string, batch int, keyed bool) {
	g := benchGate(b, f, rushgate.MaxStock)
	asks := make([]rushgate.Ask, batch)
	out := make([]rushgate.Decision, batch)
	now, next, epoch := time.Now(), 0, int64(1)
	b.ReportAllocs()
	b.ResetTimer()
	for done := 0; done < b.N; done += batch {
		if next+batch > len(users) { // everybody has one: start anew
			b.StopTimer()
			epoch++
			sale, row := bare(epoch, rushgate.MaxStock)
			if err := g.Load(b.Context(), snapshot(sale, nil, row)); err != nil {
				b.Fatal(err)
			}
			next = 0
			b.StartTimer()
		}
		for i := range asks {
			asks[i] = rushgate.Ask{ID: rushgate.ID(done + i + 1), Sale: "sale", Item: "a", User: users[next], Quantity: 1}
			if keyed {
				asks[i].Key = users[next]
			}
			next++
		}
		if err := g.Claim(b.Context(), now, asks, out); err != nil || out[batch-1].Code != rushgate.Granted {
			b.Fatalf("%v, %+v", err, out[batch-1])
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "claims/s")
}

func benchPeek(b *testing.B, f Factory, users []string, key string) {
	g := benchGate(b, f, 1000)
	asks := make([]rushgate.Ask, 1000)
	out := make([]rushgate.Decision, len(asks))
	for i := range asks {
		asks[i] = rushgate.Ask{ID: rushgate.ID(i + 1), Sale: "sale", Item: "a", User: users[i], Quantity: 1, Key: users[i]}
	}
	now := time.Now()
	if err := g.Claim(b.Context(), now, asks, out); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		a := rushgate.Ask{ID: 5000, Sale: "sale", Item: "a", Quantity: 1, Key: key}
		for i := len(asks); pb.Next(); i++ {
			a.User = users[i%(len(users)-len(asks))+len(asks)]
			if code := g.Peek(now, &a); code != rushgate.SoldOut {
				b.Errorf("peek says %s", code)
				return
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "asks/s")
}

func benchLoad(b *testing.B, f Factory, users []string) {
	g := benchGate(b, f, 0)
	sale, row := bare(1, 2*benchUsers)
	row.Taken = benchUsers
	snap := snapshot(sale, nil, row)
	snap.Claims = func(yield func(rushgate.Claim, error) bool) {
		for i, user := range users {
			c := rushgate.Claim{ID: rushgate.ID(i + 1), Sale: "sale", Item: "a", User: user, Quantity: 1, State: rushgate.Held}
			if !yield(c, nil) {
				return
			}
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		sale.Epoch++
		if err := g.Load(b.Context(), snap); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)*benchUsers/b.Elapsed().Seconds(), "claims/s")
}
