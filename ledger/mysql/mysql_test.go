package mysql_test

import (
	"context"
	stdsql "database/sql"
	"flag"
	"net/url"
	"strings"
	"testing"
	"time"

	driver "github.com/go-sql-driver/mysql"
	"go.uber.org/goleak"

	"rushgate"
	"rushgate/internal/testenv"
	"rushgate/ledger/ledgertest"
	"rushgate/ledger/mysql"
)

// server is MariaDB for all tests that leave it alone.
var server = testenv.SharedMariaDB("innodb_flush_log_at_trx_commit=0", "sync_binlog=0", "max_allowed_packet=2M")

func TestMain(m *testing.M) {
	// A story of the model is a thousand statements, and each a round trip:
	// fewer of them are told here, unless the command line wants more.
	if err := flag.Set("rapid.checks", "15"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(server.Around(m))
}

// database is the storage of a MySQL ledger: its URL.
type database string

func (d database) Open(t testing.TB, commit func(func() error) error) rushgate.Ledger {
	t.Helper()
	return d.open(t, commit, 20*time.Second)
}

// OpenHasty implements ledgertest.SharedStorage.
func (d database) OpenHasty(t testing.TB) rushgate.Ledger {
	t.Helper()
	return d.open(t, nil, time.Second)
}

// open opens a ledger that waits so long for a lock, and longer for an answer.
func (d database) open(t testing.TB, commit func(func() error) error, wait time.Duration) rushgate.Ledger {
	t.Helper()
	l, err := mysql.Open(context.Background(), string(d), mysql.Options{Commit: commit, LockWait: wait, Patience: 30 * time.Second})
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	return l
}

// hand is a connection of a test's own, beside the ledger.
func (d database) hand(t testing.TB) *stdsql.Conn {
	t.Helper()
	db := d.pool(t)
	conn, err := db.Conn(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

func (d database) pool(t testing.TB) *stdsql.DB {
	t.Helper()
	connector, err := driver.NewConnector(config(t, d))
	if err != nil {
		t.Fatal(err)
	}
	db := stdsql.OpenDB(connector)
	t.Cleanup(func() { db.Close() })
	return db
}

// config is the driver's own way to a database.
func config(t testing.TB, d database) *driver.Config {
	t.Helper()
	u, err := url.Parse(string(d))
	if err != nil {
		t.Fatal(err)
	}
	c := driver.NewConfig()
	c.Net, c.Addr, c.DBName, c.User = "tcp", u.Host, u.Path[1:], u.User.Username()
	c.Passwd, _ = u.User.Password()
	return c
}

func (d database) do(t testing.TB, c *stdsql.Conn, statement string, args ...any) {
	t.Helper()
	if _, err := c.ExecContext(context.Background(), statement, args...); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// Hold implements ledgertest.SharedStorage.
func (d database) Hold(t testing.TB, sale string) func() {
	c := d.hand(t)
	d.do(t, c, `START TRANSACTION`)
	d.do(t, c, `SELECT id FROM sales WHERE id = ? FOR UPDATE`, sale)
	return func() { d.do(t, c, `ROLLBACK`) }
}

// Doubt implements ledgertest.SharedStorage.
func (d database) Doubt(t testing.TB, batch int64) func(commit bool) {
	c := d.hand(t)
	d.do(t, c, `START TRANSACTION`)
	d.do(t, c, `INSERT INTO batches (id, at) VALUES (?, 0)`, batch)
	return func(commit bool) {
		if commit {
			d.do(t, c, `COMMIT`)
		} else {
			d.do(t, c, `ROLLBACK`)
		}
	}
}

// Waiting implements ledgertest.SharedStorage. It is not asked by the server's own
// client, which is a program that has to start, and on a busy machine takes its time;
// and not of innodb_trx, which shows the same for as long as somebody looks more than
// ten times a second.
func (d database) Waiting(t testing.TB) bool {
	t.Helper()
	connector, err := driver.NewConnector(config(t, d))
	if err != nil {
		t.Fatal(err)
	}
	db := stdsql.OpenDB(connector)
	defer db.Close()
	var name string
	var waiting int
	if err := db.QueryRow(`SHOW GLOBAL STATUS LIKE 'Innodb_row_lock_current_waits'`).Scan(&name, &waiting); err != nil {
		t.Fatal(err)
	}
	return waiting > 0
}

func fresh(t testing.TB) database { return database(server.Server(t).NewDatabase(t)) }

// emptied gives all tests of a suite one database, emptied before each: to make
// one and its tables takes longer than most tests.
func emptied(t testing.TB) func(testing.TB) database {
	var d database
	var hand *stdsql.Conn
	return func(inner testing.TB) database {
		if hand == nil {
			d = fresh(t)
			ledger := d.Open(t, nil)
			if err := ledger.Close(); err != nil {
				t.Fatal(err)
			}
			hand = d.hand(t)
		}
		for _, table := range []string{"sales", "items", "claims", "events", "batches", "leases"} {
			d.do(inner, hand, `DELETE FROM `+table)
		}
		return d
	}
}

func factory(t testing.TB) ledgertest.Factory {
	next := emptied(t)
	return ledgertest.Factory{New: func(t testing.TB) ledgertest.Storage { return next(t) }}
}

func shared(t testing.TB) ledgertest.SharedFactory {
	next := emptied(t)
	return ledgertest.SharedFactory{New: func(t testing.TB) ledgertest.SharedStorage { return next(t) }}
}

func TestLedger(t *testing.T) { ledgertest.Run(t, factory(t)) }

func TestShared(t *testing.T) { ledgertest.RunShared(t, shared(t)) }

func TestLeases(t *testing.T) { ledgertest.RunLeases(t, shared(t)) }

// name is the database's.
func (d database) name() string {
	_, name, _ := strings.Cut(string(d)[len("mysql://"):], "/")
	return name
}
