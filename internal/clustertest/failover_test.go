package clustertest

import (
	"context"
	"strings"
	"testing"

	"rushgate/client"
	"rushgate/internal/testenv"
)

// sentinelURL is where a gate finds the master of a group.
func sentinelURL(g *testenv.SentinelGroup) string {
	return "redis://" + strings.Join(g.Addrs(), ",") + "?sentinel=" + g.Name
}

// The master dies, and the replica that takes its place was cut off long before:
// it gives away again what was given away meanwhile, if it is believed.
func TestSentinelFailsOverToAStaleReplica(t *testing.T) {
	t.Parallel()
	const stock, people = 500, 1500
	seed := seed(t)
	ledger, group := onPostgres(t, postgresql.Server(t)), testenv.RedisSentinel(t, 1)
	master, replica := group.Servers[0], group.Servers[1]
	c := gather(t, plan{nodes: 2, ledger: ledger, gate: sentinelURL(group)})
	c.awaitReady(2)
	c.sell(stock)
	crowd := c.crowd(seed)
	crowd.at(stock/5, func(context.Context) {
		c.must("pause the replica", replica.Pause())
		_, err := say(master, "CLIENT KILL TYPE replica") // nothing more is on its way
		c.must("cut the replica off", err)
	})
	crowd.at(stock/2, func(context.Context) {
		master.Kill()
		c.must("resume the replica", replica.Resume())
		_, err := group.MasterAfter(master)
		c.must("fail over", err)
		c.must("start the old master again", master.Start())
	})
	crowd.rush(people)
	c.conclude(crowd.journal)
	if !strings.Contains(c.Log(), "Redis has forgotten a sale") {
		t.Error("nobody noticed that the replica was stale")
	}
}

// One master of a Redis Cluster dies with a part of the sale, and its replica
// takes over.
func TestAMasterOfARedisClusterIsKilled(t *testing.T) {
	t.Parallel()
	const stock, people = 500, 1500
	seed := seed(t)
	ledger, group := onPostgres(t, postgresql.Server(t)), testenv.RedisCluster(t, 3, 3)
	c := gather(t, plan{nodes: 2, ledger: ledger, gate: "redis://" + strings.Join(group.Addrs(), ",")})
	c.awaitReady(2)
	c.sell(stock, func(s *client.Sale) { s.Shards = 3 })
	crowd := c.crowd(seed)
	crowd.at(stock/2, func(context.Context) {
		victim := loaded(t, group)
		victim.Kill()
		until(t, "the replica takes over", group.Complete)
		c.must("start the old master again", victim.Start())
	})
	crowd.rush(people)
	c.conclude(crowd.journal)
}

// loaded is a master that has keys.
func loaded(t *testing.T, group *testenv.ClusterGroup) *testenv.RedisServer {
	for _, s := range group.Servers[:3] {
		if n, err := say(s, "DBSIZE"); err == nil && n != ":0" {
			return s
		}
	}
	t.Error("no master has any key")
	return group.Servers[0]
}
