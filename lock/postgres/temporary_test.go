package postgres_test

import (
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"rushgate/lock/postgres"
)

// A temporary table of the application's, in a session of the same pool, is not
// taken for the lock's, though PostgreSQL looks for tables there first.
func TestATemporaryTableOfTheSameName(t *testing.T) {
	config, err := pgxpool.ParseConfig(server.Server(t).NewDatabase(t))
	if err != nil {
		t.Fatal(err)
	}
	config.MaxConns = 1
	p, err := pgxpool.NewWithConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	b := backend(t, p, postgres.Options{})
	if _, err := p.Exec(t.Context(), "CREATE TEMPORARY TABLE claims (LIKE lock.claims)"); err != nil {
		t.Fatal(err)
	}
	h, err := locker(t, b).TryLock(t.Context(), "k")
	if err != nil {
		t.Fatal(err)
	}
	var n int
	if err := p.QueryRow(t.Context(), "SELECT count(*) FROM lock.claims").Scan(&n); err != nil || n != 1 {
		t.Fatalf("%d claims, %v", n, err)
	}
	if err := h.Unlock(t.Context()); err != nil {
		t.Fatal(err)
	}
}
