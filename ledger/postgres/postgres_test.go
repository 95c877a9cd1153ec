package postgres_test

import (
	"context"
	"crypto/rand"
	"flag"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"rushgate"
	"rushgate/internal/testenv"
	"rushgate/ledger/ledgertest"
	"rushgate/ledger/postgres"
)

var server = testenv.SharedPostgres("max_connections=200")

func TestMain(m *testing.M) {
	// A story of the model is a thousand statements, and each a round trip:
	// fewer of them are told here, unless the command line wants more.
	if err := flag.Set("rapid.checks", "10"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(server.Around(m))
}

// schema is the storage of a ledger: a schema of its own in the shared server's
// database, which is as good as a database, and made in a tenth of the time.
type schema struct {
	name  string
	url   string
	admin *pgx.Conn
}

func newSchema(t testing.TB) schema {
	t.Helper()
	return newSchemaFor(t, t)
}

// newSchemaFor makes a schema that lasts as long as its owner.
func newSchemaFor(t, owner testing.TB) schema {
	t.Helper()
	url := quick(t, server.Server(t))
	admin, err := pgx.Connect(context.Background(), url)
	if err != nil {
		t.Fatal(err)
	}
	name := "s" + strings.ToLower(rand.Text())
	s := schema{name: name, url: url + "&search_path=" + name + "&application_name=" + name, admin: admin}
	s.sql(t, "CREATE SCHEMA "+name)
	s.sql(t, "SET search_path TO "+name)
	s.sql(t, "SET client_min_messages TO warning")
	owner.Cleanup(func() {
		s.sql(owner, "DROP SCHEMA "+name+" CASCADE")
		if err := admin.Close(context.Background()); err != nil {
			owner.Error(err)
		}
	})
	return s
}

func (s schema) sql(t testing.TB, sql string, args ...any) {
	t.Helper()
	if _, err := s.admin.Exec(context.Background(), sql, args...); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

func (s schema) Open(t testing.TB, commit func(func() error) error) rushgate.Ledger {
	t.Helper()
	return s.open(t, commit, 20*time.Second)
}

// OpenHasty implements ledgertest.SharedStorage.
func (s schema) OpenHasty(t testing.TB) rushgate.Ledger {
	t.Helper()
	return s.open(t, nil, time.Second)
}

// unhurried is the schema's URL for a ledger whose transactions a test stops in the
// middle: the server ends a paused one after 3 seconds, in which a busy machine may
// not have come to what the test does meanwhile.
func (s schema) unhurried() string { return s.url + "&idle_in_transaction_session_timeout=60000" }

func (s schema) open(t testing.TB, commit func(func() error) error, wait time.Duration) rushgate.Ledger {
	t.Helper()
	l, err := postgres.Open(context.Background(), s.unhurried(), postgres.Options{Commit: commit, LockWait: wait})
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	return l
}

// hand is a connection of a test's own, beside the ledger.
func (s schema) hand(t testing.TB) schema {
	t.Helper()
	conn, err := pgx.Connect(context.Background(), s.url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	s.admin = conn
	return s
}

// begin begins a transaction on a connection of its own. end ends both; the end
// of the test does too, if it fails before.
func (s schema) begin(t testing.TB, sql string, args ...any) (end func(commit bool)) {
	t.Helper()
	conn, err := pgx.Connect(context.Background(), s.url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	tx, err := conn.Begin(context.Background())
	if err == nil {
		_, err = tx.Exec(context.Background(), sql, args...)
	}
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return func(commit bool) {
		t.Helper()
		finish := tx.Rollback
		if commit {
			finish = tx.Commit
		}
		if err := finish(context.Background()); err != nil {
			t.Fatal(err)
		}
		if err := conn.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
}

func (s schema) Hold(t testing.TB, sale string) (release func()) {
	t.Helper()
	end := s.begin(t, `UPDATE sales SET last_seq = last_seq + 1 WHERE id = $1`, sale)
	return func() { end(false) }
}

func (s schema) Doubt(t testing.TB, batch int64) (end func(commit bool)) {
	t.Helper()
	return s.begin(t, `INSERT INTO batches (id, at) VALUES ($1, 0)`, batch)
}

func (s schema) Waiting(t testing.TB) (waiting bool) {
	t.Helper()
	// The activity of others is read anew with each statement outside of a transaction.
	const sql = `SELECT EXISTS (SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND application_name = $1)`
	if err := s.admin.QueryRow(context.Background(), sql, s.name).Scan(&waiting); err != nil {
		t.Fatal(err)
	}
	return waiting
}

// shelf holds schemas whose tables are there, and empty: to make them takes
// longer than most stories.
type shelf struct {
	t     *testing.T // owns the schemas
	spare []schema
}

func (s *shelf) take(t testing.TB) schema {
	if n := len(s.spare); n > 0 {
		last := s.spare[n-1]
		s.spare = s.spare[:n-1]
		t.Cleanup(func() { s.empty(t, last) })
		return last
	}
	made := newSchemaFor(t, s.t)
	t.Cleanup(func() { s.empty(t, made) })
	return made
}

func (s *shelf) empty(t testing.TB, used schema) {
	for _, table := range []string{"sales", "items", "claims", "events", "batches", "leases"} {
		used.sql(t, "DELETE FROM "+table)
	}
	s.spare = append(s.spare, used)
}

func TestLedger(t *testing.T) {
	t.Parallel()
	s := &shelf{t: t}
	ledgertest.Run(t, ledgertest.Factory{New: func(t testing.TB) ledgertest.Storage { return s.take(t) }})
}

func shared(t *testing.T) ledgertest.SharedFactory {
	s := &shelf{t: t}
	return ledgertest.SharedFactory{New: func(t testing.TB) ledgertest.SharedStorage { return s.take(t) }}
}

func TestShared(t *testing.T) {
	t.Parallel()
	ledgertest.RunShared(t, shared(t))
}

func TestLeases(t *testing.T) {
	t.Parallel()
	ledgertest.RunLeases(t, shared(t))
}
