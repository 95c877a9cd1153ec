package clustertest

import (
	"context"
	"fmt"
	"testing"

	"rushgate/client"
	"rushgate/internal/testenv"
)

// The crash between script and ledger, and the one between ledger and answer: a
// node dies exactly there, and never comes back. Another one records what it
// granted; who asks again with the same key is told; nothing is stranded.
func TestANodeDiesBetweenGateAndLedger(t *testing.T) {
	t.Parallel()
	for _, moment := range []string{beforeRecord, afterRecord} {
		t.Run(moment, func(t *testing.T) {
			t.Parallel()
			ledger, redis := onPostgres(t, postgresql.Server(t)), testenv.Redis(t)
			c := gather(t, plan{nodes: 2, ledger: ledger, gate: redis.URL(), mortal: moment})
			c.awaitReady(2)
			c.sell(10)
			heir, mortal := c.at(c.Nodes[0]), c.at(c.Nodes[1])
			j := newJournal(t)
			for i := range mortalBatches {
				claim, err := mortal.Claim(t.Context(), sale, client.Ask{User: fmt.Sprintf("u%d", i)})
				if err != nil {
					t.Fatal(err)
				}
				j.acknowledge(claim)
			}
			late := client.Ask{User: "late", Key: "late-key"}
			if claim, err := mortal.Claim(t.Context(), sale, late); client.CodeOf(err) != client.Unreachable {
				t.Fatalf("the node was to die, and answered %+v, %v", claim, err)
			}
			<-c.Nodes[1].Ended()
			c.Nodes[1].Kill()
			until(t, "another node knows the claim of the dead one", func() error {
				claim, err := heir.Claim(t.Context(), sale, late)
				if err == nil {
					j.acknowledge(claim)
					if !claim.Replayed {
						t.Errorf("it made another one: %+v", claim)
					}
				}
				return err
			})
			until(t, "a second claim is refused", func() error {
				_, err := heir.Claim(t.Context(), sale, client.Ask{User: "late", Key: "another"})
				switch client.CodeOf(err) {
				case client.LimitReached:
					return nil
				case client.Unavailable: // it may have lost its place for a moment
					return err
				}
				t.Errorf("a second claim: %v", err)
				return nil
			})
			until(t, "nothing is on its way", func() error {
				stock, _, err := heir.Stock(t.Context(), sale)
				if err == nil && (stock[0].Unsettled != 0 || stock[0].Free != 10-mortalBatches-1 || stock[0].Held != mortalBatches+1) {
					err = fmt.Errorf("%+v", stock)
				}
				return err
			})
			c.Nodes = c.Nodes[:1]
			c.conclude(j)
		})
	}
}

// The same in the middle of a rush: the batches of the node that dies are as
// large as they get, and it comes back under the same number.
func TestANodeDiesBetweenGateAndLedgerInTheRush(t *testing.T) {
	t.Parallel()
	for _, moment := range []string{beforeRecord, afterRecord} {
		t.Run(moment, func(t *testing.T) {
			t.Parallel()
			const stock, people = 400, 1000
			seed := seed(t)
			ledger, redis := onPostgres(t, postgresql.Server(t)), testenv.Redis(t)
			c := gather(t, plan{nodes: 3, ledger: ledger, gate: redis.URL(), mortal: moment})
			c.awaitReady(3)
			c.sell(stock)
			crowd := c.crowd(seed)
			mortal := c.Nodes[2]
			crowd.at(1, func(ctx context.Context) {
				select {
				case <-mortal.Ended():
					mortal.Kill() // it is gone; now the fleet knows
					c.must("start again", mortal.Start())
				case <-ctx.Done():
					t.Error("the mortal node lives")
				}
			})
			crowd.rush(people)
			mortal.Kill() // if it has not died again
			c.Nodes = c.Nodes[:2]
			c.conclude(crowd.journal)
		})
	}
}
