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

// At the level "accepted" people are told before their claims are recorded. When
// Redis forgets in the middle, and a node cannot reach the ledger while another
// one builds the gate anew, what nobody could record becomes revoked, with an
// event; everything else is there. (Only what a node and Redis take with them,
// dying together, leaves no trace.)
func TestWhatWasAcceptedIsRecordedOrRevoked(t *testing.T) {
	t.Parallel()
	const stock, people = 800, 1600
	seed := seed(t)
	server := postgresql.Server(t)
	ledger, redis := onPostgres(t, server), testenv.Redis(t)
	proxy := testenv.NewProxy(t, server.Addr)
	// Nobody but n1 records what n1 has told, however long the rest takes.
	c := gather(t, plan{nodes: 2, ledger: ledger, gate: redis.URL(), adopt: patience, via: func(node string) (string, string) {
		if node == "n1" {
			return strings.Replace(ledger.url, server.Addr, proxy.Addr, 1), redis.URL()
		}
		return ledger.url, redis.URL()
	}})
	c.awaitReady(2)
	c.sell(stock, func(s *client.Sale) { s.Ack = "accepted" })
	crowd := c.crowd(seed)
	crowd.early, crowd.plain, crowd.calm = true, true, 10*time.Millisecond
	crowd.at(stock/4, func(context.Context) {
		c.awaitReady(2)
		epoch := c.number(`SELECT epoch FROM sales`)
		proxy.Hold(testenv.ToServer) // n1 tells people, and cannot record
		told := crowd.acknowledged()
		until(t, "more people are told", func() error {
			if n := crowd.acknowledged() - told; n < 20 {
				return fmt.Errorf("%d are", n)
			}
			return nil
		})
		redis.Kill()
		c.must("start Redis again", redis.Start())
		until(t, "the gate is built anew", func() error {
			if now := c.number(`SELECT epoch FROM sales`); now == epoch {
				return fmt.Errorf("the epoch is %d still", now)
			}
			return nil
		})
		c.must("heal", proxy.Heal())
	})
	crowd.rush(people)
	c.conclude(crowd.journal)
	t.Logf("%d claims were revoked", crowd.revoked)
	if crowd.revoked == 0 {
		t.Error("everything could be recorded: this test does not see what it is about")
	}
}
