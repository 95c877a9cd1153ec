package clustertest

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"rushgate/client"
	"rushgate/internal/testenv"
)

// An operator freezes the sale through one node in the middle of a rush at all
// of them. When that has answered, nothing is granted any more, anywhere, until
// another operator lets it go on through another node. One node is far from the
// ledger: what it has granted is on its way for long.
func TestAFreezeHoldsAtAllNodes(t *testing.T) {
	t.Parallel()
	const stock, people, refusals = 600, 1500, 300
	seed := seed(t)
	server := postgresql.Server(t)
	ledger, redis := onPostgres(t, server), testenv.Redis(t)
	far := testenv.NewProxy(t, server.Addr)
	c := gather(t, plan{nodes: 3, ledger: ledger, gate: redis.URL(), via: func(node string) (string, string) {
		if node == "n2" {
			return strings.Replace(ledger.url, server.Addr, far.Addr, 1), redis.URL()
		}
		return ledger.url, redis.URL()
	}})
	c.awaitReady(3)
	c.sell(stock)
	far.Delay(testenv.Both, 25*time.Millisecond)
	crowd := c.crowd(seed)
	crowd.frozen = true
	for i, at := range []int{stock / 4, stock / 2} {
		crowd.at(at, func(ctx context.Context) {
			_, err := c.patientAt(c.Nodes[2*i]).Freeze(ctx, sale)
			c.must("freeze", err)
			granted := c.ids()
			before := crowd.said(client.Frozen)
			until(t, "the crowd hears of it", func() error {
				if n := crowd.said(client.Frozen) - before; n < refusals {
					return fmt.Errorf("%d were refused", n)
				}
				return nil
			})
			if after := c.ids(); len(after) != len(granted) {
				t.Errorf("%d claims when the freeze had answered, and %d later", len(granted), len(after))
			}
			crowd.each(func(k *known) {
				if !granted[k.ID] {
					t.Errorf("claim %s of %s was granted after the freeze", k.ID, k.User)
				}
			})
			_, err = c.patientAt(c.Nodes[2-2*i]).Resume(ctx, sale)
			c.must("resume", err)
		})
	}
	crowd.rush(people)
	c.must("heal", far.Heal())
	c.conclude(crowd.journal)
}

// ids are the claims in the ledger.
func (c *cluster) ids() map[string]bool {
	ids := map[string]bool{}
	for _, row := range c.rows(`SELECT id FROM claims`) {
		ids[row[0]] = true
	}
	return ids
}
