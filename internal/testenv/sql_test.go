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
	t.Run("postgres", func(t *testing.T) { test(t, postgres.Server(t)) })
	t.Run("mariadb", func(t *testing.T) { test(t, mariadb.Server(t)) })
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
	t.Run("postgres", func(t *testing.T) {
		isolates(t, postgres.Server(t), "postgres", "SELECT count(*) FROM pg_database WHERE datname LIKE 'test%'")
	})
	t.Run("mariadb", func(t *testing.T) {
		isolates(t, mariadb.Server(t), "", "SELECT count(*) FROM information_schema.schemata WHERE schema_name LIKE 'test%'")
	})
}

func isolates(t *testing.T, s sqlEngine, home, databases string) {
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
}

// The password counts, so that a test of a wrong one means something.
func TestASQLServerRefusesAWrongPassword(t *testing.T) {
	for _, password := range []*string{&postgres.Server(t).Password, &mariadb.Server(t).Password} {
		right := *password
		t.Cleanup(func() { *password = right })
		*password = "wrong"
	}
	if _, err := postgres.Server(t).SQL("postgres", "SELECT 1"); err == nil || !strings.Contains(err.Error(), "password authentication failed") {
		t.Errorf("PostgreSQL: %v", err)
	}
	if _, err := mariadb.Server(t).SQL("", "DO 1"); err == nil || !strings.Contains(err.Error(), "Access denied") {
		t.Errorf("MariaDB: %v", err)
	}
}

func TestASQLServerIsDurableUnlessToldOtherwise(t *testing.T) {
	const settings = "SELECT current_setting('fsync'), current_setting('synchronous_commit')"
	if got := query(t, postgres.Server(t), "postgres", settings); got != "on|on" {
		t.Errorf("PostgreSQL: fsync and synchronous_commit are %s", got)
	}
	if got := query(t, mariadb.Server(t), "", "SELECT @@innodb_flush_log_at_trx_commit"); got != "1" {
		t.Errorf("MariaDB: innodb_flush_log_at_trx_commit is %s", got)
	}
	if got := query(t, PostgreSQL(t, "synchronous_commit=off"), "postgres", settings); got != "on|off" {
		t.Errorf("PostgreSQL with a setting: fsync and synchronous_commit are %s", got)
	}
	if got := query(t, MariaDB(t, "innodb_flush_log_at_trx_commit=2"), "", "SELECT @@innodb_flush_log_at_trx_commit"); got != "2" {
		t.Errorf("MariaDB with a setting: innodb_flush_log_at_trx_commit is %s", got)
	}
}
