package postgres_test

import (
	"context"
	"fmt"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"rushgate"
	"rushgate/internal/testenv"
	"rushgate/ledger/postgres"
)

// BenchmarkNodes lets several nodes record batches of 256 claims of the same sale
// at the same time, each one batch after the other, on the same machine and with
// a millisecond of network between, to and fro.
func BenchmarkNodes(b *testing.B) {
	s := roomy(b)
	for _, far := range []time.Duration{0, time.Millisecond} {
		for _, nodes := range []int{1, 2, 4} {
			b.Run(fmt.Sprintf("%d/%s", nodes, far), func(b *testing.B) { benchNodes(b, s, nodes, far) })
		}
	}
}

func benchNodes(b *testing.B, s *testenv.PostgresServer, nodes int, far time.Duration) {
	const size = 256
	address := s.NewDatabase(b)
	newRecord(b, address) // makes the sale
	if far > 0 {
		proxy := testenv.NewProxy(b, s.Addr)
		proxy.Delay(testenv.Both, far/2)
		address = changed(b, address, func(u *url.URL) { u.Host = proxy.Addr })
	}
	var numbers atomic.Int64
	numbers.Store(1 << 40)
	var all sync.WaitGroup
	ledgers := make([]*postgres.Ledger, nodes)
	for i := range ledgers {
		ledgers[i] = opened(b, address, postgres.Options{})
		must(b, ledgers[i].Record(b.Context(), sold(&numbers, 1))) // connects
	}
	b.ResetTimer()
	for i, l := range ledgers {
		all.Go(func() {
			for range (b.N + i) / nodes { // b.N batches in all
				if err := l.Record(context.Background(), sold(&numbers, size)); err != nil {
					b.Error(err)
				}
			}
		})
	}
	all.Wait()
	b.ReportMetric(float64(b.N*size)/b.Elapsed().Seconds(), "claims/s")
}

// sold makes a batch of claims by users whom nobody has seen before.
func sold(numbers *atomic.Int64, size int) *rushgate.Batch {
	claims := make([]rushgate.Claim, size)
	for i := range claims {
		id := numbers.Add(1)
		claims[i] = rushgate.Claim{ID: rushgate.ID(id), Sale: "s", Item: "black-128", User: fmt.Sprintf("u%016x", uint64(id)*0x9e3779b97f4a7c15),
			Quantity: 1, State: rushgate.Held, CreatedAt: morning, ExpiresAt: morning.Add(time.Hour)}
	}
	return &rushgate.Batch{ID: numbers.Add(1), At: morning,
		Steps: []rushgate.Step{&rushgate.Grant{Sale: "s", Epoch: 1, PerUser: 1, Claims: claims}}}
}
