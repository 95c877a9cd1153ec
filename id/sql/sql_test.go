package sql_test

import (
	stdsql "database/sql"
	"fmt"
	"net/url"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"
	"go.uber.org/goleak"
	_ "modernc.org/sqlite"

	"rushgate/id"
	"rushgate/id/idtest"
	"rushgate/id/sql"
	"rushgate/internal/testenv"
)

var (
	postgres = testenv.SharedPostgres()
	mariadb  = testenv.SharedMariaDB()
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(postgres.Around(mariadb.Around(m))) }

// databases are the three, each with the tables.
func databases(t *testing.T, test func(t *testing.T, db *stdsql.DB, d sql.Dialect)) {
	for name, d := range map[string]struct {
		dialect sql.Dialect
		open    func(t *testing.T) (driver, dsn string)
	}{
		"postgres": {sql.Postgres, func(t *testing.T) (string, string) { return "pgx", postgres.Server(t).NewDatabase(t) }},
		"mariadb":  {sql.MySQL, func(t *testing.T) (string, string) { return "mysql", mysqlDSN(t, mariadb.Server(t).NewDatabase(t)) }},
		"sqlite": {sql.SQLite, func(t *testing.T) (string, string) {
			return "sqlite", "file:" + filepath.Join(t.TempDir(), "ids.db") + "?_pragma=busy_timeout(20000)&_pragma=journal_mode(WAL)"
		}},
	} {
		t.Run(name, func(t *testing.T) {
			driver, dsn := d.open(t)
			db, err := stdsql.Open(driver, dsn)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { db.Close() })
			db.SetMaxOpenConns(10)
			test(t, db, d.dialect)
		})
	}
}

func mysqlDSN(t *testing.T, address string) string {
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	c := mysql.NewConfig()
	c.Net, c.Addr, c.User, c.DBName = "tcp", u.Host, u.User.Username(), u.Path[1:]
	c.Passwd, _ = u.User.Password()
	return c.FormatDSN()
}

func open(t testing.TB, db *stdsql.DB, d sql.Dialect, o sql.Options) *sql.Store {
	t.Helper()
	s, err := sql.New(db, d, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.CreateTables(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestStore(t *testing.T) {
	databases(t, func(t *testing.T, db *stdsql.DB, d sql.Dialect) {
		var n atomic.Int64
		open(t, db, d, sql.Options{})
		idtest.Run(t, func(t testing.TB) idtest.Register {
			o := sql.Options{Name: fmt.Sprintf("register-%d", n.Add(1)), Grace: id.MinTTL + time.Second}
			if t.Name() == "" || filepath.Base(t.Name()) != "forgetting" {
				o.Grace = 0
			}
			s, err := sql.New(db, d, o)
			if err != nil {
				t.Fatal(err)
			}
			return idtest.Register{Open: func() id.Store { return s }, Forget: func() { forget(t, db, d, o.Name) }}
		})
	})
}

func forget(t testing.TB, db *stdsql.DB, d sql.Dialect, name string) {
	for _, table := range []string{"id_numbers", "id_registers"} {
		if _, err := db.ExecContext(t.Context(), "DELETE FROM "+table+" WHERE name = '"+name+"'"); err != nil {
			t.Error(err)
		}
	}
}

// TestTheDatabasesClock is read after the lock, in UTC, whatever the session's
// time zone; and tables can be made by several at once.
func TestTheDatabasesClock(t *testing.T) {
	databases(t, func(t *testing.T, db *stdsql.DB, d sql.Dialect) {
		errs := make(chan error)
		s, err := sql.New(db, d, sql.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for range 4 {
			go func() { errs <- s.CreateTables(t.Context()) }()
		}
		for range 4 {
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
		before := time.Now().UnixMilli()
		l, err := s.Acquire(t.Context(), request("a"))
		after := time.Now().UnixMilli()
		if err != nil || l.NowMs < before-1 || l.NowMs > after+1 {
			t.Errorf("%+v between %d and %d: %v", l, before, after, err)
		}
	})
}

func request(owner string) id.Request {
	return id.Request{Owner: owner, Layout: id.Standard(1), TTL: time.Minute, ClockMs: time.Now().UnixMilli(), SkewMs: 60_000}
}

// TestDistrust: after it, windows begin a grace later, for old owners too.
func TestDistrust(t *testing.T) {
	databases(t, func(t *testing.T, db *stdsql.DB, d sql.Dialect) {
		s := open(t, db, d, sql.Options{})
		before, err := s.Acquire(t.Context(), request("a"))
		if err != nil || before.FromMs != before.NowMs {
			t.Fatalf("%+v, %v", before, err)
		}
		if err := s.Distrust(t.Context(), time.Minute); err != nil {
			t.Fatal(err)
		}
		a, err := s.Renew(t.Context(), before.Number, request("a"))
		if err != nil || a.FromMs < before.NowMs+60_000 || a.UntilMs != a.FromMs+60_000 {
			t.Errorf("%+v, %v", a, err)
		}
		b, err := s.Acquire(t.Context(), request("b"))
		if err != nil || b.FromMs != a.FromMs || b.Number == a.Number {
			t.Errorf("%+v, %v", b, err)
		}
		if err := s.Distrust(t.Context(), -1); err == nil {
			t.Error("a negative grace is taken")
		}
	})
}

// TestIDsInColumns: ids and UUIDs go into columns and come back.
func TestIDsInColumns(t *testing.T) {
	databases(t, func(t *testing.T, db *stdsql.DB, d sql.Dialect) {
		uuidType, place := "CHAR(36)", [3]string{"?", "?", "?"}
		if d == sql.Postgres {
			uuidType, place = "UUID", [3]string{"$1", "$2", "$3"}
		}
		if _, err := db.ExecContext(t.Context(), "CREATE TABLE things (id BIGINT PRIMARY KEY, u "+uuidType+", none BIGINT)"); err != nil {
			t.Fatal(err)
		}
		g, err := id.New(id.Config{Layout: id.Standard(0)})
		if err != nil {
			t.Fatal(err)
		}
		i, u := g.Next(), id.NewUUIDs(nil).Next()
		none := stdsql.Null[id.ID]{}
		if _, err := db.ExecContext(t.Context(), fmt.Sprintf("INSERT INTO things VALUES (%s, %s, %s)", place[0], place[1], place[2]), i, u, none); err != nil {
			t.Fatal(err)
		}
		var gotI id.ID
		var gotU id.UUID
		gotNone := stdsql.Null[id.ID]{Valid: true}
		if err := db.QueryRowContext(t.Context(), "SELECT id, u, none FROM things WHERE id = "+place[0], i).Scan(&gotI, &gotU, &gotNone); err != nil {
			t.Fatal(err)
		}
		if gotI != i || gotU != u || gotNone.Valid {
			t.Errorf("%d, %s, %v came back of %d, %s, NULL", gotI, gotU, gotNone, i, u)
		}
	})
}

func TestWrongOptions(t *testing.T) {
	db, err := stdsql.Open("sqlite", ":memory:")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, o := range []sql.Options{{Name: "a b"}, {Grace: -1}, {Grace: 3 * time.Hour}} {
		if _, err := sql.New(db, sql.SQLite, o); err == nil {
			t.Errorf("%+v is taken", o)
		}
	}
	if _, err := sql.New(nil, sql.SQLite, sql.Options{}); err == nil {
		t.Error("no database is taken")
	}
	if _, err := sql.New(db, 0, sql.Options{}); err == nil {
		t.Error("no dialect is taken")
	}
}
