package postgres

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"rushgate"
)

// Options tune a ledger. The zero value is right for a server.
type Options struct {
	// Writers bounds the connections that record batches; Readers those that
	// read lists, snapshots and tallies. Default 4 each. Short reads have three
	// of their own, and leases two. The sum, for all nodes, must be within the
	// server's max_connections.
	Writers, Readers int

	// Patience is how long the server may be silent during a batch or a short
	// read before the connection is given up for lost, 100 ms to 1 minute;
	// connecting has to succeed within it, too. Default 10 s.
	Patience time.Duration

	// LockWait is how long a batch waits for a row that somebody else has,
	// 100 ms to 1 minute. Default 5 s: longer than a paused node can hold one.
	LockWait time.Duration

	// Log receives what is wrong, but does not keep the ledger from working: a
	// server that does not wait for its disk. Default: nowhere.
	Log *slog.Logger

	// Now is the clock of Tally and Facts. Default time.Now.
	Now func() time.Time

	// Commit stands between the ledger and each COMMIT of a batch, so that a
	// test can make one fail before or after it has happened. Default: commit.
	Commit func(commit func() error) error
}

const maxConnections = 1000 // of one pool: far beyond what a server bears

func (o *Options) defaults() error {
	if o.Writers < 0 || o.Readers < 0 || o.Writers > maxConnections || o.Readers > maxConnections {
		return errors.New("postgres: Writers and Readers must be 0 (for the default) to 1000")
	}
	if o.Writers == 0 {
		o.Writers = 4
	}
	if o.Readers == 0 {
		o.Readers = 4
	}
	if o.Patience == 0 {
		o.Patience = 10 * time.Second
	}
	if o.LockWait == 0 {
		o.LockWait = 5 * time.Second
	}
	if min(o.Patience, o.LockWait) < 100*time.Millisecond || max(o.Patience, o.LockWait) > time.Minute {
		return errors.New("postgres: Patience and LockWait must be 100ms to 1m")
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Commit == nil {
		o.Commit = plainly
	}
	return nil
}

// plainly commits.
func plainly(commit func() error) error { return commit() }

// Ledger is a rushgate.Ledger on a PostgreSQL server.
type Ledger struct {
	opts   Options
	target target
	id     string

	w      *pgxpool.Pool // records batches; nil when read only
	r      *pgxpool.Pool
	short  *pgxpool.Pool // for what long reads may not hold up: see readShortly
	leases *pgxpool.Pool // for what no read may hold up
}

var (
	_ rushgate.Ledger = (*Ledger)(nil)
	_ rushgate.Leases = (*Ledger)(nil)
)

// Open opens the ledger in a database, postgres://user:password@host:port/name,
// and makes its tables if they are not there. The error is one line that says
// what to do; errors.Is tells ErrNewer.
func Open(ctx context.Context, url string, opts Options) (*Ledger, error) {
	l, err := begin(url, opts)
	if err != nil {
		return nil, err
	}
	if err := l.prepare(ctx); err != nil {
		return nil, l.target.explain(err)
	}
	if err := l.connect(ctx); err != nil {
		return nil, l.target.explain(errors.Join(err, l.Close()))
	}
	return l, nil
}

// OpenReadOnly opens the ledger in a database for reading, also on a standby,
// and as a user who may only SELECT. It migrates nothing and refuses every write.
func OpenReadOnly(ctx context.Context, url string) (*Ledger, error) {
	l, err := begin(url, Options{})
	if err != nil {
		return nil, err
	}
	l.target.readOnly = true
	if err := l.prepare(ctx); err != nil {
		return nil, l.target.explain(err)
	}
	if err := l.connect(ctx); err != nil {
		return nil, l.target.explain(errors.Join(err, l.Close()))
	}
	return l, nil
}

func begin(url string, opts Options) (*Ledger, error) {
	if err := opts.defaults(); err != nil {
		return nil, err
	}
	t, err := parse(url, opts.Patience)
	if err != nil {
		return nil, err
	}
	return &Ledger{opts: opts, target: t}, nil
}

// prepare looks at the server and its tables through a connection of its own,
// and migrates.
func (l *Ledger) prepare(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, prepareTime)
	defer cancel()
	conn, err := l.target.connect(ctx)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if l.target.readOnly {
		if err := sameVersion(ctx, conn); err != nil {
			return err
		}
	} else {
		if err := l.writable(ctx, conn); err != nil {
			return err
		}
		if err := l.upgrade(ctx, conn); err != nil {
			return err
		}
	}
	if err := allowed(ctx, conn, l.target.readOnly); err != nil {
		return err
	}
	return conn.QueryRow(ctx, `SELECT id FROM ledger`).Scan(&l.id)
}

// These are enough: each call takes a millisecond. A node has one lease to renew
// while it waits for another.
const (
	shortConnections = 3
	leaseConnections = 2
)

// connect opens the pools.
func (l *Ledger) connect(ctx context.Context) (err error) {
	if !l.target.readOnly {
		if l.w, err = l.pool(ctx, l.opts.Writers, l.opts.writing()); err != nil {
			return err
		}
	}
	if l.r, err = l.pool(ctx, l.opts.Readers, reading()); err != nil {
		return err
	}
	if l.short, err = l.pool(ctx, shortConnections, l.opts.shortly(l.target.readOnly)); err != nil {
		return err
	}
	l.leases, err = l.pool(ctx, leaseConnections, l.opts.shortly(l.target.readOnly))
	return err
}

// ID is the random id that this ledger got when its tables were made. Two nodes
// with the same id use the same ledger, or a copy of it.
func (l *Ledger) ID() string { return l.id }

// Close waits for the calls that are under way and ends the ledger.
func (l *Ledger) Close() error {
	for _, pool := range []*pgxpool.Pool{l.w, l.r, l.short, l.leases} {
		if pool != nil {
			pool.Close()
		}
	}
	return nil
}

var errReadOnly = errors.New("the ledger was opened for reading only")
