package postgres

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// commitCleanly sends COMMIT. It has gone well only if the server has nothing to
// add. When somebody has cancelled the wait for a synchronous standby, the server
// answers COMMIT too: the transaction is on its own disk, and nowhere else. All
// that tells is a warning, whose words depend on the server's language.
//
// When ctx ends meanwhile, the server goes on waiting: its statement_timeout does
// not count here, and pgx is kept from having the COMMIT cancelled. So nobody can
// read the transaction until the standby has it, and whoever needs its rows waits.
func commitCleanly(ctx context.Context, conn *pgx.Conn) error {
	l := lineOf(conn)
	l.warning = nil
	l.committing.Store(true)
	tag, err := conn.Exec(ctx, `COMMIT`)
	if err != nil && conn.IsClosed() {
		// pgx would wait 15 seconds for the server's farewell, and the pool for pgx.
		_ = conn.PgConn().Conn().Close()
		return err
	}
	l.committing.Store(false) // there is an answer
	if err != nil {
		return err
	}
	if tag.String() != "COMMIT" {
		return fmt.Errorf("the server answered %s", tag)
	}
	if l.warning != nil {
		return fmt.Errorf("the server has committed with a warning: %s", l.warning.Message)
	}
	return nil
}

// line is what the ledger knows of a connection of a pool.
type line struct {
	dialer     pgconn.DialFunc
	committing atomic.Bool    // also asked by the goroutine that closes the connection
	warning    *pgconn.Notice // the latest; belongs to whoever uses the connection
}

const lineKey = "line" // in what a connection is known by

// lay gives a connection that is about to be made a line of its own.
func lay(_ context.Context, c *pgx.ConnConfig) error {
	l := &line{dialer: c.DialFunc}
	c.DialFunc, c.OnNotice = l.dial, l.hear
	c.AfterConnect = func(_ context.Context, conn *pgconn.PgConn) error {
		conn.CustomData()[lineKey] = l
		return nil
	}
	return nil
}

func lineOf(conn *pgx.Conn) *line { return conn.PgConn().CustomData()[lineKey].(*line) }

var errUncancelled = errors.New("a commit is not cancelled")

// dial connects, at first for the connection itself. pgx dials once more to have
// cancelled what was given up.
func (l *line) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	if l.committing.Load() {
		return nil, errUncancelled
	}
	return l.dialer(ctx, network, addr)
}

// hear keeps a warning of the server.
func (l *line) hear(_ *pgconn.PgConn, n *pgconn.Notice) {
	if n.SeverityUnlocalized == "WARNING" {
		l.warning = n
	}
}
