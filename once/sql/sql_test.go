package oncesql_test

import (
	"database/sql"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	_ "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"
	"go.uber.org/goleak"
	_ "modernc.org/sqlite"

	"rushgate/internal/testenv"
	"rushgate/once/oncetest"
	oncesql "rushgate/once/sql"
)

var (
	postgres = testenv.SharedPostgres("fsync=off", "max_connections=400") // as many nodes as tests at a time
	mariadb  = testenv.SharedMariaDB("innodb_flush_log_at_trx_commit=2", "max_connections=400")
)

func TestMain(m *testing.M) {
	if where := oncetest.Child(); where != "" {
		os.Exit(childMain(where))
	}
	if err := flag.Set("rapid.checks", "15"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(postgres.Around(mariadb.Around(m)))
}

// place is a database: a dialect, and how it is reached.
type place struct {
	dialect     oncesql.Dialect
	driver, dsn string
}

// places makes an empty database of each kind.
func places() map[string]func(testing.TB) place {
	return map[string]func(testing.TB) place{
		"postgres": func(tb testing.TB) place {
			return place{oncesql.Postgres, "pgx", postgres.Server(tb).NewDatabase(tb)}
		},
		"mariadb": func(tb testing.TB) place {
			return place{oncesql.MySQL, "mysql", mysqlDSN(mariadb.Server(tb).NewDatabase(tb))}
		},
		"sqlite": func(tb testing.TB) place {
			return place{oncesql.SQLite, "sqlite", "file:" + filepath.Join(tb.TempDir(), "once.db") +
				"?_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)"}
		},
	}
}

// mysqlDSN writes mysql://user:password@host:port/database in the driver's way.
func mysqlDSN(url string) string {
	rest := strings.TrimPrefix(url, "mysql://")
	user, host, _ := strings.Cut(rest, "@")
	addr, database, _ := strings.Cut(host, "/")
	return fmt.Sprintf("%s@tcp(%s)/%s", user, addr, database)
}

// through is the same database behind another address.
func (p place) through(addr, other string) place {
	p.dsn = strings.Replace(p.dsn, addr, other, 1)
	return p
}

// open connects a node.
func (p place) open() (*sql.DB, *oncesql.Store, error) {
	db, err := sql.Open(p.driver, p.dsn)
	if err != nil {
		return nil, nil, err
	}
	db.SetMaxOpenConns(8)
	db.SetMaxIdleConns(8)
	s, err := oncesql.New(db, p.dialect, oncesql.Options{})
	return db, s, err
}

// node connects a node that ends with the test. The tables are made by each, as
// by programs that start at the same time.
func (p place) node(tb testing.TB) (*sql.DB, *oncesql.Store) {
	tb.Helper()
	db, s, err := p.open()
	if err == nil {
		tb.Cleanup(func() { db.Close() })
		err = s.CreateTables(tb.Context())
	}
	if err != nil {
		tb.Fatal(err)
	}
	return db, s
}

// settings are those under which the package's promises hold as well.
var settings = []struct{ name, place, more string }{
	{"postgres, serializable", "postgres", "default_transaction_isolation=serializable"},
	{"mariadb, read committed", "mariadb", "tx_isolation=%27READ-COMMITTED%27&interpolateParams=true&clientFoundRows=true"},
}

// with is the same database under another setting.
func (p place) with(setting string) place {
	p.dsn += map[bool]string{true: "&", false: "?"}[strings.Contains(p.dsn, "?")] + setting
	return p
}

func TestConformance(t *testing.T) {
	t.Parallel()
	all := places()
	for _, s := range settings {
		fresh := all[s.place]
		all[s.name] = func(tb testing.TB) place { return fresh(tb).with(s.more) }
	}
	for name, fresh := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			oncetest.Run(t, oncetest.Factory{New: func(tb testing.TB, n int) []oncetest.Backend {
				p := fresh(tb)
				nodes := make([]oncetest.Backend, n)
				for i := range nodes {
					_, nodes[i] = p.node(tb)
				}
				return nodes
			}})
		})
	}
}
