package mysql

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"rushgate"
)

// Options tune a ledger. The zero value is right for a node.
type Options struct {
	// Writers bounds the connections that record batches. Default 4: batches of
	// one sale follow each other anyway.
	Writers int

	// Readers bounds the connections that read lists, snapshots and tallies.
	// Default 4. Short reads and leases have two of their own each: a node takes up
	// to 12 of the server's max_connections.
	Readers int

	// Patience is how long the server may be silent during a batch or a short
	// read before the connection is given up for lost; connecting has to
	// succeed within it, too. Default 10 s.
	Patience time.Duration

	// LockWait is how long a batch waits for a lock that another node has, in
	// whole seconds; what is less is rounded up. The wait is tried once more.
	// Default 3 s.
	LockWait time.Duration

	// Log receives what goes wrong beside the calls. Default: nowhere.
	Log *slog.Logger

	// Now is the clock of Tally. Default time.Now.
	Now func() time.Time

	// Commit stands between the ledger and each COMMIT of a batch, so that a
	// test can make one fail before or after it has happened. Default: commit.
	Commit func(commit func() error) error
}

func (o *Options) defaults() error {
	if o.Readers < 0 || o.Writers < 0 || o.Patience < 0 || o.LockWait < 0 {
		return errors.New("mysql: Writers, Readers, Patience and LockWait must not be negative")
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
		o.LockWait = 3 * time.Second
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Commit == nil {
		o.Commit = plain
	}
	return nil
}

// plain is a commit with nothing around it.
func plain(commit func() error) error { return commit() }

// These are enough: each short read, and each lease, takes about a millisecond.
const (
	shortConns = 2
	leaseConns = 2
)

// Ledger is a rushgate.Ledger in a MySQL or MariaDB database.
type Ledger struct {
	at       address
	opts     Options
	readOnly bool

	w      *sql.DB // batches
	r      *sql.DB // lists, snapshots, tallies
	short  *sql.DB // reads that nobody may hold up
	leases *sql.DB // which no flood of reads may hold up

	id     atomic.Pointer[string] // which ledger this is: known once it is open
	closed atomic.Bool
}

var (
	_ rushgate.Ledger = (*Ledger)(nil)
	_ rushgate.Leases = (*Ledger)(nil)
)

// Open opens the ledger in a database, which must be there; its tables are made,
// or brought up to date, if they are not. The URL is
//
//	mysql://user:password@host:port/database[?tls=true]
//
// where tls is false (the default), true, skip-verify or preferred, and tls-ca,
// tls-cert and tls-key name files in PEM. The error is one line that says what to
// do; errors.Is tells ErrNewer.
func Open(ctx context.Context, url string, opts Options) (*Ledger, error) {
	l, err := connect(url, opts, false)
	if err != nil {
		return nil, err
	}
	if err := l.begin(ctx); err != nil {
		return nil, errors.Join(l.at.explain(err), l.Close())
	}
	return l, nil
}

// OpenReadOnly opens the ledger in a database for reading, also while nodes have
// it open, and also with a user who may do nothing but SELECT. It migrates
// nothing and refuses every write.
func OpenReadOnly(ctx context.Context, url string) (*Ledger, error) {
	l, err := connect(url, Options{}, true)
	if err != nil {
		return nil, err
	}
	err = l.acceptable(ctx)
	if err == nil {
		err = sameVersion(ctx, l.short)
	}
	if err == nil {
		err = l.identify(ctx)
	}
	if err != nil {
		return nil, errors.Join(l.at.explain(err), l.Close())
	}
	return l, nil
}

// connect makes the pools. Nobody is called yet.
func connect(url string, opts Options, readOnly bool) (*Ledger, error) {
	if err := opts.defaults(); err != nil {
		return nil, err
	}
	at, err := parseURL(url)
	if err != nil {
		return nil, err
	}
	l := &Ledger{at: at, opts: opts, readOnly: readOnly}
	l.w = l.pool(opts.Writers, opts.Patience, silentClient)
	l.r = l.pool(opts.Readers, longPatience, slowReader)
	l.short = l.pool(shortConns, opts.Patience, silentClient)
	l.leases = l.pool(leaseConns, opts.Patience, silentClient)
	return l, nil
}

// begin looks at the server, and migrates and rehearses in its database.
func (l *Ledger) begin(ctx context.Context) error {
	if err := l.acceptable(ctx); err != nil {
		return err
	}
	if err := l.upgrade(ctx); err != nil {
		return err
	}
	if err := l.identify(ctx); err != nil {
		return err
	}
	return l.rehearse(ctx)
}

// identify reads which ledger this is.
func (l *Ledger) identify(ctx context.Context) error {
	var id string
	if err := l.short.QueryRowContext(ctx, sqlIdentity).Scan(&id); err != nil {
		return err
	}
	l.id.Store(&id)
	return nil
}

// ID returns the ledger's id: made with its tables, the same for every node, and
// another one in every other database.
func (l *Ledger) ID() string { return *l.id.Load() }

// rehearse finds out whether batches will be taken: a user without rights, and a
// server that is read-only, are better told of now than in the sale. None of the
// statements changes anything.
func (l *Ledger) rehearse(ctx context.Context) error {
	return l.write(ctx, task{l.short, waitRetries, plain}, func(t *tx) error {
		for _, n := range needs {
			if err := t.add(nil, n.statement); err != nil {
				return err
			}
		}
		return nil
	})
}

// Close waits for the calls that are under way and ends the ledger.
func (l *Ledger) Close() error {
	if l.closed.Swap(true) {
		return nil
	}
	for _, pool := range []*sql.DB{l.w, l.r, l.short, l.leases} {
		_ = pool.Close() // a server that does not hear our goodbye has kept all that it was given
	}
	return nil
}

var errReadOnly = errors.New("the ledger was opened for reading only")
