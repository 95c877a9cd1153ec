package clustertest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"rushgate/internal/fleet"
	"rushgate/internal/testenv"
)

// A node among others stands still for longer than its lease lasts and its
// claims wait, and then goes on as if nothing had happened.
func TestANodeIsPausedAndWakesUp(t *testing.T) {
	t.Parallel()
	const stock, people = 600, 1500
	seed := seed(t)
	ledger, redis := onPostgres(t, postgresql.Server(t)), testenv.Redis(t)
	c := gather(t, plan{nodes: 2, ledger: ledger, gate: redis.URL()})
	c.awaitReady(2)
	c.sell(stock)
	crowd := c.crowd(seed)
	crowd.calm = 20 * time.Millisecond
	sleeper := c.Nodes[1]
	for _, at := range []int{stock / 6, stock / 2} {
		crowd.at(at, func(context.Context) {
			c.awaitReady(2)
			c.must("pause", sleeper.Pause())
			c.missed(sleeper)
			c.must("resume", sleeper.Resume())
		})
	}
	crowd.rush(people)
	c.conclude(crowd.journal)
}

// missed waits until the leases of a node are over.
func (c *cluster) missed(n *fleet.Node) {
	held := fmt.Sprintf(`SELECT count(*) FROM leases WHERE holder LIKE '%s/%%' AND expires_at > now()`, n.Name)
	until(c.t, "the lease is over", func() error {
		if left := c.number(held); left > 0 {
			return fmt.Errorf("%d are not", left)
		}
		return nil
	})
}

// leader waits until one node leads: none may seem to, for a moment.
func (c *cluster) leader() (leader *fleet.Node) {
	until(c.t, "one node leads", func() error {
		ready := c.ready()
		if len(ready) != 1 {
			return fmt.Errorf("%d are ready", len(ready))
		}
		leader = ready[0]
		return nil
	})
	return leader
}

// The leader stands still until another one leads, and wakes up with claims in
// its hands that it believes it may record.
func TestALeaderIsPausedAndWakesUp(t *testing.T) {
	t.Parallel()
	const stock, people = 600, 1500
	seed := seed(t)
	ledger := onPostgres(t, postgresql.Server(t))
	c := gather(t, plan{nodes: 2, ledger: ledger, gate: gateMemory})
	c.awaitReady(1)
	c.sell(stock)
	crowd := c.crowd(seed)
	crowd.calm = 10 * time.Millisecond
	for _, at := range []int{stock / 6, stock / 2} {
		crowd.at(at, func(context.Context) {
			leader := c.leader()
			c.must("pause", leader.Pause())
			until(t, "another one leads", func() error {
				if ready := c.ready(); len(ready) != 1 || ready[0] == leader {
					return fmt.Errorf("%d are ready", len(ready))
				}
				return nil
			})
			c.must("resume", leader.Resume())
		})
	}
	crowd.rush(people)
	c.conclude(crowd.journal)
}
