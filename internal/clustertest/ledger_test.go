package clustertest

import (
	"net/url"
	"strings"
	"testing"

	"rushgate/internal/testenv"
)

// onPostgres makes a database for one test in a PostgreSQL.
func onPostgres(t *testing.T, s *testenv.PostgresServer) ledger {
	t.Helper()
	return inDatabase(t, s.NewDatabase(t), s.SQL)
}

// onMariaDB makes a database for one test in a MariaDB.
func onMariaDB(t *testing.T, s *testenv.MariaDBServer) ledger {
	t.Helper()
	return inDatabase(t, s.NewDatabase(t), s.SQL)
}

func inDatabase(t *testing.T, address string, sql func(database, statement string) (string, error)) ledger {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	database := strings.TrimPrefix(u.Path, "/")
	return ledger{url: address, sql: func(statement string) (string, error) { return sql(database, statement) }}
}
