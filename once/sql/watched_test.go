package oncesql_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"testing"

	oncesql "rushgate/once/sql"
)

// watched connects through a driver, and lets something happen before each statement
// and each commit.
type watched struct {
	through driver.Driver
	dsn     string
	before  func(statement string)
}

// commit is the statement that ends a transaction.
const commit = "COMMIT"

func (w *watched) Driver() driver.Driver { return w.through }

func (w *watched) Connect(context.Context) (driver.Conn, error) {
	conn, err := w.through.Open(w.dsn)
	return &watchedConn{conn, w.before}, err
}

// watchedConn has no ExecContext and no QueryContext, so that database/sql
// prepares every statement.
type watchedConn struct {
	driver.Conn
	before func(string)
}

func (c *watchedConn) Prepare(query string) (driver.Stmt, error) {
	c.before(query)
	return c.Conn.Prepare(query)
}

func (c *watchedConn) BeginTx(ctx context.Context, o driver.TxOptions) (driver.Tx, error) {
	tx, err := c.Conn.(driver.ConnBeginTx).BeginTx(ctx, o)
	return &watchedTx{tx, c.before}, err
}

type watchedTx struct {
	driver.Tx
	before func(string)
}

func (t *watchedTx) Commit() error {
	t.before(commit)
	return t.Tx.Commit()
}

// watching opens a store before whose statements something happens.
func (p place) watching(t *testing.T, through driver.Driver, before func(statement string)) *oncesql.Store {
	t.Helper()
	db := sql.OpenDB(&watched{through, p.dsn, before})
	t.Cleanup(func() { db.Close() })
	s, err := oncesql.New(db, p.dialect, oncesql.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}
