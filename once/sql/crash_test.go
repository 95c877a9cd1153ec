package oncesql_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	oncesql "rushgate/once/sql"

	"rushgate/once/oncetest"
)

// childMain works in another process: see oncetest.Work.
func childMain(where string) int {
	parts := strings.SplitN(where, " ", 2)
	p, ok := map[string]place{
		"pgx":    {dialect: oncesql.Postgres, driver: "pgx", dsn: parts[1]},
		"mysql":  {dialect: oncesql.MySQL, driver: "mysql", dsn: parts[1]},
		"sqlite": {dialect: oncesql.SQLite, driver: "sqlite", dsn: parts[1]},
	}[parts[0]]
	if !ok {
		fmt.Fprintln(os.Stderr, "no such place:", where)
		return 1
	}
	db, s, err := p.open()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer db.Close()
	return oncetest.Work(s)
}

func TestCrashes(t *testing.T) {
	t.Parallel()
	for name, fresh := range places() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := fresh(t)
			_, s := p.node(t)
			oncetest.RunCrashes(t, p.driver+" "+p.dsn, s)
		})
	}
}
