package app_test

import (
	"crypto/rand"
	"fmt"
	"strings"
	"sync"
	"testing"

	"rushgate"
	"rushgate/client"
	"rushgate/internal/testenv"
)

// privately makes keys of one Redis this test's alone.
func privately(t *testing.T, s *testenv.RedisServer) string {
	t.Helper()
	return s.URL() + "?prefix=" + rand.Text() + ":"
}

// lowest is the part of an id that tells the node.
func lowest(id string) int64 {
	n, _ := rushgate.ParseID(id)
	return int64(n) & rushgate.MaxNode
}

// Two nodes on one Redis and one ledger sell one stock: exactly what there is,
// under numbers of their own.
func TestMembersSellOneStock(t *testing.T) {
	t.Parallel()
	for name, database := range ledgers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ledger, gate := database(t), privately(t, redis.Server(t))
			one := join(t, clusterConfig(t, "one", ledger, gate))
			two := join(t, clusterConfig(t, "two", ledger, gate))
			one.awaitReady(t)
			two.awaitReady(t)
			one.sell(t, "s", 100)
			var mu sync.Mutex
			var ids []string
			numbers := map[int64]int{} // the lowest bits of an id are the number of the node that made it
			var wg sync.WaitGroup
			for w, n := range []*node{one, two, one, two} {
				c := n.operator(t)
				wg.Go(func() {
					for i := range 50 {
						claim, err := c.Claim(t.Context(), "s", client.Ask{User: fmt.Sprintf("u%d", i*4+w)})
						switch {
						case err == nil:
							mu.Lock()
							ids = append(ids, claim.ID)
							numbers[lowest(claim.ID)]++
							mu.Unlock()
						case client.CodeOf(err) != client.SoldOut:
							t.Error(err)
						}
					}
				})
			}
			wg.Wait()
			if len(ids) != 100 {
				t.Errorf("%d of 100 units were sold", len(ids))
			}
			one.owns(t, "s", ids...)
			if len(numbers) != 2 || numbers[0] == 0 || numbers[1] == 0 {
				t.Errorf("the ids are of nodes %v", numbers)
			}
			for n, want := range map[*node]string{one: "lease=node/0", two: "lease=node/1"} {
				if !strings.Contains(n.log.String(), want) {
					t.Errorf("no %q in the log:\n%s", want, n.log)
				}
			}
		})
	}
}
