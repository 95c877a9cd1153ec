package testenv

import (
	"strings"
	"testing"
)

// sqlEngine is a server that every test of this file is run with.
type sqlEngine interface {
	sqlServer
	Start() error
	Restart(testing.TB)
	Stop()
	Kill()
	PID() int
	NewDatabase(testing.TB) string
	SQL(database, statements string) (string, error)
}

func onEachEngine(t *testing.T, test func(t *testing.T, s sqlEngine)) {
	for name, start := range map[string]func(testing.TB) sqlEngine{
		"postgres": func(t testing.TB) sqlEngine { return PostgreSQL(t) },
		"mariadb":  func(t testing.TB) sqlEngine { return MariaDB(t) },
	} {
		t.Run(name, func(t *testing.T) { test(t, start(t)) })
	}
}

func query(t *testing.T, s sqlEngine, database, statement string) string {
	t.Helper()
	rows, err := s.SQL(database, statement)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func TestASQLServerKeepsWhatItAcknowledged(t *testing.T) {
	onEachEngine(t, func(t *testing.T, s sqlEngine) {
		if err := s.CreateDatabase("shop"); err != nil {
			t.Fatal(err)
		}
		query(t, s, "shop", "CREATE TABLE units (n int)")
		addr := s.URL("shop")
		for i, end := range []func(){s.Kill, s.Kill, s.Stop} {
			query(t, s, "shop", "INSERT INTO units VALUES (1)")
			end()
			end()
			if s.Running() {
				t.Error("it runs after its end")
			}
			if err := s.Start(); err != nil {
				t.Fatalf("start %d: %v", i, err)
			}
			if err := s.Start(); err == nil {
				t.Error("a server that runs was started again")
			}
		}
		before := s.PID()
		s.Restart(t)
		if s.PID() == before {
			t.Error("a restart left the same process")
		}
		if got := query(t, s, "shop", "SELECT count(*) FROM units"); got != "3" {
			t.Errorf("%s rows after three ends, want 3", got)
		}
		if s.URL("shop") != addr {
			t.Errorf("it moved from %s to %s", addr, s.URL("shop"))
		}
	})
}

func TestEachTestHasADatabaseOfItsOwn(t *testing.T) {
	onEachEngine(t, func(t *testing.T, s sqlEngine) {
		databases := "SELECT count(*) FROM information_schema.schemata WHERE schema_name LIKE 'test\\_%'"
		if strings.HasPrefix(s.URL(""), "postgres") {
			databases = "SELECT count(*) FROM pg_database WHERE datname LIKE 'test\\_%'"
		}
		home := map[bool]string{true: "postgres", false: ""}[strings.HasPrefix(s.URL(""), "postgres")]
		t.Run("one", func(t *testing.T) {
			if a, b := s.NewDatabase(t), s.NewDatabase(t); a == b {
				t.Errorf("two databases are one: %s", a)
			}
			if got := query(t, s, home, databases); got != "2" {
				t.Errorf("%s databases, want 2", got)
			}
		})
		if got := query(t, s, home, databases); got != "0" {
			t.Errorf("%s databases are left after the test", got)
		}
	})
}
