package clustertest

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"rushgate/client"
	"rushgate/internal/testenv"
)

// Three nodes sell together, and one after the other is killed and started
// again in the middle of the rush. RUSHGATE_CLUSTER_PEOPLE says how many come.
func TestNodesAreKilledDuringTheSale(t *testing.T) {
	t.Parallel()
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

// One node after the other is stopped in good order and started again, as for
// an upgrade, behind HAProxy as deploy/ configures it. Nobody misses an answer: a
// node that stops serves until nothing is sent to it any more.
func TestNodesAreRestartedOneByOne(t *testing.T) {
	t.Parallel()
	const stock, people = 2000, 2500
	seed := seed(t)
	ledger, redis := onPostgres(t, postgresql.Server(t)), testenv.Redis(t)
	c := gather(t, plan{nodes: 3, ledger: ledger, gate: redis.URL(), drain: 2 * time.Second})
	c.awaitReady(3)
	c.sell(stock)
	front := c.proxied()
	crowd := c.crowd(seed)
	crowd.plain, crowd.calm = true, 15*time.Millisecond
	crowd.client = c.connect(front.url, client.WithRetry(client.Retry{Attempts: 1}), client.WithAttemptTimeout(patience))
	for i, n := range c.Nodes {
		crowd.at((2*i+1)*stock/8, func(context.Context) {
			status, err := n.Stop()
			c.must("stop", err)
			if status != 0 {
				t.Errorf("node %s ended with %d", n.Name, status)
			}
			c.must("start again", n.Start())
			front.find(i, n)
		})
	}
	crowd.rush(people)
	if n := crowd.said(client.Unreachable); n > 0 {
		t.Errorf("%d answers got lost", n)
	}
	c.conclude(crowd.journal)
}
