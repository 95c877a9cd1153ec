package postgres_test

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"go.uber.org/goleak"

	"rushgate/internal/testenv"
	"rushgate/lock"
	"rushgate/lock/locktest"
	"rushgate/lock/postgres"
)

// server is the PostgreSQL of all tests that do it no harm.
var server = testenv.SharedPostgres("fsync=off") // nothing here crashes it

func TestMain(m *testing.M) {
	if url := locktest.Child(); url != "" {
		os.Exit(childMain(url))
	}
	if err := flag.Set("rapid.checks", "30"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(server.Around(m))
}

func pool(tb testing.TB, url string) *pgxpool.Pool {
	tb.Helper()
	p, err := pgxpool.New(tb.Context(), url)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(p.Close)
	return p
}

func backend(tb testing.TB, p *pgxpool.Pool, opts postgres.Options) *postgres.Backend {
	tb.Helper()
	if err := postgres.Prepare(tb.Context(), p, opts); err != nil {
		tb.Fatal(err)
	}
	b, err := postgres.New(p, opts)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// wire puts a network in front of the PostgreSQL.
func wire(tb testing.TB) locktest.Wire {
	s := server.Server(tb)
	url, proxy := s.NewDatabase(tb), testenv.NewProxy(tb, s.Addr)
	beside := backend(tb, pool(tb, url), postgres.Options{})
	through, err := postgres.New(pool(tb, strings.Replace(url, s.Addr, proxy.Addr, 1)), postgres.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	return locktest.Wire{Through: through, Beside: beside,
		Cut:  func() { proxy.Cut() },
		Hold: func() { proxy.Hold(testenv.ToServer) },
		Heal: proxy.Heal,
		Lose: func(toServer, toClient bool) {
			if toServer {
				proxy.Swallow(testenv.ToServer)
			}
			if toClient {
				proxy.Swallow(testenv.ToClient)
			}
		}}
}

func TestPostgres(t *testing.T) {
	pools := map[lock.Backend]*pgxpool.Pool{}
	locktest.Run(t, locktest.Factory{
		New: func(tb testing.TB) lock.Backend {
			p := pool(tb, server.Server(tb).NewDatabase(tb))
			b := backend(tb, p, postgres.Options{})
			pools[b] = p
			return b
		},
		Expire: func(tb testing.TB, b lock.Backend, key, owner string) {
			tag, err := pools[b].Exec(tb.Context(), `UPDATE lock.claims SET ends = clock_timestamp() WHERE key = $1 AND owner = $2`, key, owner)
			if err != nil || tag.RowsAffected() != 1 {
				tb.Fatal(tag, err)
			}
		},
		Wire:  wire,
		Where: func(b lock.Backend) string { return pools[b].Config().ConnString() },
	})
}
