package app_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"rushgate"
	gates "rushgate/gate/redis"
	"rushgate/internal/testenv"
	"rushgate/ledger/sqlite"
)

// Redis comes back with all its data, and both nodes notice that it is another one.
// Loading the sale takes one of them far longer than the other waits between two
// looks; and still it is loaded once.
func TestNodesDoNotTakeALongLoadFromEachOther(t *testing.T) {
	t.Parallel()
	server := testenv.Redis(t, "appendonly yes")
	ledger, err := sqlite.Open(t.Context(), t.TempDir(), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ledger.Close() })
	large(t, ledger, 20_000)
	nodes := make([]*rushgate.Service, 2)
	for i := range nodes {
		// A part of the load that takes long on a busy machine is no load that fails.
		gate, err := gates.Open(t.Context(), server.URL(), gates.Options{Timeout: 20 * time.Second, Patience: 30 * time.Second, LoadLease: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { gate.Close() })
		nodes[i], err = rushgate.Open(t.Context(), rushgate.Config{Gate: gate, Ledger: ledger, Node: i, SweepEvery: time.Hour, AuditEvery: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { nodes[i].Close(context.Background()) })
	}
	epoch := func() int64 {
		sale, err := ledger.Sale(t.Context(), "large")
		if err != nil {
			t.Fatal(err)
		}
		return sale.Epoch
	}
	before, user := epoch(), 0
	server.Restart(t)
	until(t, "both sell again", func() bool {
		selling := 0
		for _, n := range nodes {
			user++
			if _, err := n.Claim(t.Context(), rushgate.ClaimRequest{Sale: "large", User: fmt.Sprint("late ", user)}); err == nil {
				selling++
			}
		}
		return selling == len(nodes)
	})
	if n := epoch() - before; n > 4 { // one, and some more on a machine so slow that patience ends
		t.Errorf("%d epochs were taken for one restart", n)
	}
}

// large makes a sale of which so many people have a unit each.
func large(t *testing.T, ledger rushgate.Ledger, people int) {
	t.Helper()
	now := time.Now().UTC().Truncate(time.Millisecond)
	sale := &rushgate.Sale{ID: "large", Name: "Large", PerUser: 1, Ack: rushgate.Recorded, Shards: 1, Epoch: 1, Version: 1,
		CreatedAt: now, Items: []rushgate.Item{{ID: "a", Stock: 2 * int64(people)}}}
	record := func(id int, step rushgate.Step) {
		t.Helper()
		if err := ledger.Record(t.Context(), &rushgate.Batch{ID: int64(id), At: now, Steps: []rushgate.Step{step}}); err != nil {
			t.Fatal(err)
		}
	}
	record(1, &rushgate.Put{Sale: sale, Kind: rushgate.SaleCreated})
	const batch = 2000
	for done := 0; done < people; done += batch {
		g := &rushgate.Grant{Sale: sale.ID, Epoch: 1, PerUser: 1}
		for i := done; i < done+batch; i++ {
			g.Claims = append(g.Claims, rushgate.Claim{ID: rushgate.ID(1 + i), Sale: sale.ID, Item: "a", User: fmt.Sprint("early ", i),
				Quantity: 1, State: rushgate.Confirmed, CreatedAt: now, EndedAt: now})
		}
		record(2+done, g)
	}
}
