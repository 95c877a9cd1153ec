package mysql

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/go-sql-driver/mysql"
)

const (
	// longPatience bounds the silence of the server during a long read: a tally
	// of millions of claims says nothing until it is done.
	longPatience = 5 * time.Minute

	// silentClient is when the server gives up a client that says nothing, and
	// rolls back what it had begun: so long may a node that was paused in the
	// middle of a batch hold up the others.
	silentClient = 5 * time.Second

	// slowReader is the same for those who only read, and lock nothing: whoever
	// loads a gate from a snapshot may take a while.
	slowReader = 10 * time.Minute

	// idleConn is how long a connection is kept unused: less than silentClient.
	idleConn = 3 * time.Second
)

// pool makes a pool of at most n connections, on which the server may be silent
// for so long (patience), and we (silence).
func (l *Ledger) pool(n int, patience, silence time.Duration) *sql.DB {
	c := l.at.config.Clone()
	c.Timeout, c.ReadTimeout, c.WriteTimeout = l.opts.Patience, patience, l.opts.Patience
	c.Collation = "utf8mb4_bin"
	c.ClientFoundRows = true   // a condition that holds counts, also where nothing changes
	c.InterpolateParams = true // one round trip for a statement
	c.MultiStatements = true   // and for several (see tx)
	c.Logger = quiet{l.opts.Log}
	db := sql.OpenDB(&session{ledger: l, config: c, silence: silence})
	db.SetMaxOpenConns(n)
	db.SetMaxIdleConns(n)
	db.SetConnMaxIdleTime(idleConn)
	return db
}

// quiet takes what the driver has to say beside the errors that it returns.
type quiet struct{ log *slog.Logger }

func (q quiet) Print(v ...any) { q.log.Debug("the MySQL driver", "says", fmt.Sprint(v...)) }

// session makes connections that are all in the same state, whatever the
// server's defaults are.
type session struct {
	ledger  *Ledger
	config  *mysql.Config
	silence time.Duration
}

// Driver implements driver.Connector.
func (*session) Driver() driver.Driver { return &mysql.MySQLDriver{} }

// Connect implements driver.Connector. It ends within the patience for short
// reads, also where the connection is for long ones.
func (s *session) Connect(ctx context.Context) (driver.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, s.ledger.opts.Patience)
	defer cancel()
	base, err := mysql.NewConnector(s.config)
	if err != nil {
		return nil, err
	}
	conn, err := base.Connect(ctx)
	if err != nil {
		return nil, unreachable(err)
	}
	if err := s.prepare(ctx, conn); err != nil {
		return nil, closed(conn, err)
	}
	return conn, nil
}

func closed(conn driver.Conn, err error) error {
	_ = conn.Close() // the first error is the one that tells something
	return err
}

// prepare brings a connection into the state that the ledger relies on, and
// looks whether it leads to the same ledger as the others.
func (s *session) prepare(ctx context.Context, conn driver.Conn) error {
	// The modes are set as a whole: a server's default may take a string that is
	// too long and cut it. With time_zone +00:00 no hour comes twice.
	set := fmt.Sprintf(`SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', time_zone = '+00:00', autocommit = 1,
		innodb_lock_wait_timeout = %d, lock_wait_timeout = %d, wait_timeout = %d, net_write_timeout = %d;
		SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED`,
		seconds(s.ledger.opts.LockWait), seconds(s.ledger.opts.LockWait), seconds(s.silence), seconds(slowReader))
	if s.ledger.readOnly {
		set += `, READ ONLY`
	}
	if _, err := conn.(driver.ExecerContext).ExecContext(ctx, set, nil); err != nil {
		return err
	}
	known := s.ledger.id.Load()
	if known == nil {
		return nil // it is just being opened
	}
	return s.same(ctx, conn, *known)
}

// seconds rounds up: 0 would mean something else to the server.
func seconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }

const sqlIdentity = `SELECT id FROM ledger`

// same looks whether a new connection leads to the ledger that was opened. Behind
// the same address there may be another server by now.
func (s *session) same(ctx context.Context, conn driver.Conn, known string) error {
	rows, err := conn.(driver.QueryerContext).QueryContext(ctx, sqlIdentity, nil)
	if err != nil {
		return err
	}
	defer rows.Close()
	row := make([]driver.Value, 1)
	if err := rows.Next(row); err != nil && err != io.EOF {
		return err
	}
	if id, _ := row[0].([]byte); string(id) != known {
		return fmt.Errorf("%w: the database %s at %s is another ledger than the one that was opened: restore the right one and start again",
			errOther, s.config.DBName, s.config.Addr)
	}
	return nil
}
