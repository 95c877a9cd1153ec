package clustertest

import (
	"context"
	"math/rand/v2"
	"testing"

	"rushgate/internal/testenv"
)

// Three nodes sell together, and one after the other is killed and started
// again in the middle of the rush. RUSHGATE_CLUSTER_PEOPLE says how many come.
func TestNodesAreKilledDuringTheSale(t *testing.T) {
	people := int(setting(t, "RUSHGATE_CLUSTER_PEOPLE", 5000))
	stock := 1000
	seed := seed(t)
	ledger, redis := onPostgres(t, postgresql.Server(t)), testenv.Redis(t)
	c := gather(t, plan{nodes: 3, ledger: ledger, gate: redis.URL()})
	c.awaitReady(3)
	c.sell(int64(stock))
	crowd := c.crowd(seed)
	order := rand.New(rand.NewPCG(seed, 0))
	const kills = 8
	for i := range kills {
		victim := c.Nodes[order.IntN(len(c.Nodes))]
		crowd.at((i+1)*stock/(kills+2), func(context.Context) {
			victim.Kill()
			c.must("start again", victim.Start())
		})
	}
	crowd.rush(people)
	c.conclude(crowd.journal)
}
