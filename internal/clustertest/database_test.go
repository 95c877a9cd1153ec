package clustertest

import (
	"context"
	"testing"

	"rushgate/internal/testenv"
)

// database is a server that is ended and started again.
type database interface {
	Kill()
	Stop()
	Start() error
}

// The ledger's server is killed in the middle of the rush, and later restarted
// in good order. What was acknowledged was on its disk.
func TestTheDatabaseIsRestarted(t *testing.T) {
	t.Parallel()
	for name, begin := range map[string]func(t *testing.T) (database, ledger){
		"PostgreSQL": func(t *testing.T) (database, ledger) {
			s := testenv.PostgreSQL(t)
			return s, onPostgres(t, s)
		},
		"MariaDB": func(t *testing.T) (database, ledger) {
			s := testenv.MariaDB(t)
			return s, onMariaDB(t, s)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const stock, people = 500, 1500
			seed := seed(t)
			server, ledger := begin(t)
			redis := testenv.Redis(t)
			c := gather(t, plan{nodes: 2, ledger: ledger, gate: redis.URL()})
			c.awaitReady(2)
			c.sell(stock)
			crowd := c.crowd(seed)
			crowd.at(stock/3, func(context.Context) {
				server.Kill()
				c.must("start again", server.Start())
			})
			crowd.at(stock*2/3, func(context.Context) {
				server.Stop()
				c.must("start again", server.Start())
			})
			crowd.rush(people)
			c.conclude(crowd.journal)
		})
	}
}
