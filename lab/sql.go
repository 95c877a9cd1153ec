package lab

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// dialect is what differs between databases. The ways are the same.
type dialect struct {
	name    string // of a database, and the end of a way's name
	title   string
	needs   []Need
	options string // of CREATE TABLE
	lock    string // at the end of a SELECT that locks its row
	open    func(Place) (*sql.DB, error)
}

// dialects returns all databases. SQLite has one writer at a time: it locks the
// database where the others lock a row.
func dialects() []dialect {
	return []dialect{
		{name: "postgres", title: "PostgreSQL", needs: []Need{PostgreSQL}, lock: " FOR UPDATE", open: openPostgres},
		{name: "mariadb", title: "MariaDB", needs: []Need{MariaDB}, lock: " FOR UPDATE", options: " ENGINE=InnoDB", open: openMariaDB},
		{name: "sqlite", title: "SQLite", open: openSQLite},
	}
}

func openPostgres(p Place) (*sql.DB, error) { return sql.Open("pgx", p.Postgres) }

func openMariaDB(p Place) (*sql.DB, error) {
	cfg, err := MariaDBConfig(p.MariaDB)
	if err != nil {
		return nil, err
	}
	cfg.InterpolateParams = true // one round trip for a statement
	cfg.ClientFoundRows = true
	cfg.Logger = &mysql.NopLogger{} // a seller that dies says nothing
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(connector), nil
}

func openSQLite(p Place) (*sql.DB, error) {
	return sql.Open("sqlite", "file:"+filepath.Join(p.Folder, "shop.db")+
		"?_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)")
}

// sqlShop is what the ways in SQL have in common: a row with the units that are
// left, and a table of orders, both written in one transaction. What makes a way
// is how Buy changes the row.
type sqlShop struct {
	db *sql.DB
	dialect
	work   work
	unique bool // a user can have one order, says the database
}

func newSQLShop(d dialect, p Place, unique bool) (sqlShop, error) {
	db, err := d.open(p)
	if err != nil {
		return sqlShop{}, err
	}
	db.SetMaxOpenConns(p.Connections)
	db.SetMaxIdleConns(p.Connections)
	return sqlShop{db: db, dialect: d, work: work(p.Work), unique: unique}, nil
}

// Begin makes the tables anew, and opens the connections, as a shop does before
// its sale.
func (s sqlShop) Begin(ctx context.Context, units int) error {
	if err := s.create(ctx, units); err != nil {
		return err
	}
	return atOnce(s.db.Stats().MaxOpenConnections, func() (io.Closer, error) {
		conn, err := s.db.Conn(ctx)
		if err != nil {
			return nil, err
		}
		return conn, nil
	})
}

func (s sqlShop) create(ctx context.Context, units int) error {
	unique := ""
	if s.unique {
		unique = " UNIQUE"
	}
	for _, statement := range []string{
		"DROP TABLE IF EXISTS lab_stock",
		"DROP TABLE IF EXISTS lab_orders",
		"CREATE TABLE lab_stock (item INT PRIMARY KEY, units INT NOT NULL, version INT NOT NULL)" + s.options,
		"CREATE TABLE lab_orders (id VARCHAR(64) NOT NULL, user_id VARCHAR(64) NOT NULL" + unique + ")" + s.options,
		"INSERT INTO lab_stock VALUES (1, " + strconv.Itoa(units) + ", 1)",
	} {
		if _, err := s.db.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	if s.unique {
		return nil
	}
	_, err := s.db.ExecContext(ctx, "CREATE INDEX lab_orders_user ON lab_orders (user_id)")
	return err
}

// Recover has nothing to do: what was not committed never happened.
func (s sqlShop) Recover(context.Context) error { return nil }

// within does something in a transaction and commits it if the buyer gets one.
// A conflict that the database found by itself is contention.
func (s sqlShop) within(ctx context.Context, do func(*tx) (Answer, error)) (Answer, error) {
	t, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return s.judge(0, err)
	}
	defer t.Rollback()
	answer, err := do(&tx{Tx: t, dialect: s.dialect, work: s.work})
	if err != nil || answer != Granted {
		return s.judge(answer, err)
	}
	return s.judge(Granted, t.Commit())
}

// judge tells contention from failure.
func (s sqlShop) judge(a Answer, err error) (Answer, error) {
	if conflict(err) {
		return Contended, nil
	}
	return a, err
}

// conflict: the database ended a transaction because of another one (SQLSTATE
// 40001 and 40P01, MariaDB 1020, 1205 and 1213, SQLITE_BUSY in all its forms).
func conflict(err error) bool {
	var p *pgconn.PgError
	var m *mysql.MySQLError
	var l *sqlite.Error
	switch {
	case errors.As(err, &p):
		return p.Code == "40001" || p.Code == "40P01"
	case errors.As(err, &m):
		return m.Number == 1020 || m.Number == 1205 || m.Number == 1213
	case errors.As(err, &l):
		return l.Code()&0xff == sqlite3.SQLITE_BUSY
	}
	return false
}

// tx is a transaction whose statements have ? in them.
type tx struct {
	*sql.Tx
	dialect
	work work
}

// change runs a statement and returns how many rows it found.
func (t *tx) change(ctx context.Context, statement string, args ...any) (int64, error) {
	result, err := t.ExecContext(ctx, t.numbered(statement), args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// read reads one row.
func (t *tx) read(ctx context.Context, statement string, args []any, into ...any) error {
	return t.QueryRowContext(ctx, t.numbered(statement), args...).Scan(into...)
}

// has says whether a user has an order.
func (t *tx) has(ctx context.Context, user string) (bool, error) {
	n := 0
	err := t.read(ctx, "SELECT count(*) FROM lab_orders WHERE user_id = ?", []any{user}, &n)
	return n > 0, err
}

// record makes an order out and writes it.
func (t *tx) record(ctx context.Context, o Order) error {
	(t.work / 2).do(ctx)
	_, err := t.change(ctx, "INSERT INTO lab_orders VALUES (?, ?)", o.ID, o.User)
	return err
}

// numbered writes ? as PostgreSQL wants it.
func (d dialect) numbered(statement string) string {
	if d.name != "postgres" {
		return statement
	}
	var b strings.Builder
	for i, part := range strings.Split(statement, "?") {
		if i > 0 {
			fmt.Fprintf(&b, "$%d", i)
		}
		b.WriteString(part)
	}
	return b.String()
}
