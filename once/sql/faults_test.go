package oncesql_test

import (
	"context"
	"testing"

	"rushgate/internal/testenv"
	"rushgate/once"
	oncesql "rushgate/once/sql"
)

// TestServerIsKilled while the work of Do runs: the result is recorded when the
// server is back.
func TestServerIsKilled(t *testing.T) {
	t.Parallel()
	type server interface {
		Kill()
		Restart(testing.TB)
	}
	for name, start := range map[string]func(testing.TB) (server, place){
		"postgres": func(tb testing.TB) (server, place) {
			s := testenv.PostgreSQL(tb)
			return s, place{oncesql.Postgres, "pgx", s.NewDatabase(tb)}
		},
		"mariadb": func(tb testing.TB) (server, place) {
			s := testenv.MariaDB(tb)
			return s, place{oncesql.MySQL, "mysql", mysqlDSN(s.NewDatabase(tb))}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, p := start(t)
			_, s := p.node(t)
			o, err := once.New(once.Config{Store: s})
			if err != nil {
				t.Fatal(err)
			}
			r, err := o.Do(t.Context(), "k", func(context.Context, once.Attempt) ([]byte, error) {
				server.Kill()
				server.Restart(t)
				return []byte("v"), nil
			})
			if err != nil || r.Replayed {
				t.Fatalf("%+v, %v", r, err)
			}
			_, other := p.node(t)
			if state, err := other.Look(t.Context(), "k"); err != nil || state.Phase != once.Done || string(state.Value) != "v" {
				t.Fatalf("%+v, %v", state, err)
			}
		})
	}
}
