package postgres_test

import (
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"rushgate/lock/locktest"
	"rushgate/lock/postgres"
)

// A lock costs the thousandth time what it costs the first time, although every claim
// leaves a dead row and nobody vacuums: whether PostgreSQL knows nothing of the table,
// or believes it to be tiny.
func TestTheDeadAreNotReadAgain(t *testing.T) {
	for name, analyze := range map[string]string{"unknown": "", "tiny": "VACUUM ANALYZE lock.claims"} {
		t.Run(name, func(t *testing.T) {
			config, err := pgxpool.ParseConfig(server.Server(t).NewDatabase(t))
			if err != nil {
				t.Fatal(err)
			}
			config.MaxConns = 1 // so that all that is read is known to this session
			p, err := pgxpool.NewWithConfig(t.Context(), config)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(p.Close)
			l := locker(t, backend(t, p, postgres.Options{}))
			locktest.Take(t, l, "another")
			for _, statement := range []string{"ALTER TABLE lock.claims SET (autovacuum_enabled = off)", analyze} {
				if _, err := p.Exec(t.Context(), statement); err != nil {
					t.Fatal(err)
				}
			}
			use := func() int64 {
				before := pagesRead(t, p)
				for range 500 {
					locktest.Unlock(t, locktest.Take(t, l, "k"))
				}
				return pagesRead(t, p) - before
			}
			if first, second := use(), use(); second > 2*first {
				t.Errorf("500 locks read %d pages, and the next 500 %d", first, second)
			}
		})
	}
}

// pagesRead is how many pages of the claims and their index were looked at, by who
// has the only connection of a pool.
func pagesRead(t *testing.T, p *pgxpool.Pool) (pages int64) {
	t.Helper()
	if _, err := p.Exec(t.Context(), "SELECT pg_stat_force_next_flush()"); err != nil {
		t.Fatal(err)
	}
	const question = "SELECT heap_blks_read + heap_blks_hit + idx_blks_read + idx_blks_hit FROM pg_statio_user_tables WHERE relname = 'claims'"
	if err := p.QueryRow(t.Context(), question).Scan(&pages); err != nil {
		t.Fatal(err)
	}
	return pages
}
