package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"modernc.org/sqlite"

	"rushgate"
)

const fileName = "rushgate.db"

// Options tune a ledger. The zero value is right for a server.
type Options struct {
	// Readers bounds the connections that read lists, snapshots and tallies.
	// Default 4. Short reads have two of their own.
	Readers int

	// CacheMiB is the page cache of the writing connection. More is not
	// faster: what it does not hold the system's own cache does, and SQLite
	// walks through all of it at a commit that has balanced a B-tree (the swap
	// of two pages passes through a page number at 1 GiB, and whatever lies
	// beyond the end is looked for). With 64 a claim cost a seventh more CPU
	// at a million rows than with 8. Default 8.
	CacheMiB int

	// Log receives what goes wrong beside the calls: a checkpoint that fails.
	// Default: nowhere.
	Log *slog.Logger

	// Now is the clock of Tally. Default time.Now.
	Now func() time.Time

	// Commit stands between the ledger and each COMMIT of a batch, so that a
	// test can make one fail before or after it has happened. Default: commit.
	Commit func(commit func() error) error
}

func (o *Options) defaults() error {
	if o.Readers < 0 || o.CacheMiB < 0 {
		return errors.New("sqlite: Readers and CacheMiB must not be negative")
	}
	if o.Readers == 0 {
		o.Readers = 4
	}
	if o.CacheMiB == 0 {
		o.CacheMiB = 8
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Commit == nil {
		o.Commit = func(commit func() error) error { return commit() }
	}
	return nil
}

// Ledger is a rushgate.Ledger in a SQLite file.
type Ledger struct {
	dir  string
	opts Options
	lock *os.File // nil when read only
	here presence // empty when read only

	// mu guards the writing connection: one transaction at a time.
	mu     sync.Mutex
	w      *writer // nil when read only, and when a doubt could not be settled
	closed bool

	// reads guards the pool of readers: a read holds it shared, whoever must
	// close every connection (see settle) holds it alone.
	// mu is taken before reads.
	reads   sync.RWMutex
	r       *sql.DB
	short   *sql.DB     // for reads that nobody may hold up, see readShortly
	k       *sql.DB     // the keeper's connection; nil when read only
	inDoubt atomic.Bool // the last commit has an unknown end

	keeper *keeper
}

var _ rushgate.Ledger = (*Ledger)(nil)

// Open opens the ledger in a folder, making both if they are not there, and
// keeps other processes from doing the same until Close. The error is one line
// that says what to do; errors.Is tells ErrLocked, ErrNewer and ErrCorrupt.
func Open(ctx context.Context, dir string, opts Options) (*Ledger, error) {
	if err := opts.defaults(); err != nil {
		return nil, err
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, explain(dir, err)
	}
	if err := os.MkdirAll(abs, 0o700); err != nil {
		return nil, explainMaking(abs, err)
	}
	lock, err := takeLock(abs)
	if err != nil {
		return nil, explain(abs, err)
	}
	l := &Ledger{dir: abs, opts: opts, lock: lock}
	if err := l.begin(ctx); err != nil {
		return nil, errors.Join(explain(abs, err), l.Close())
	}
	return l, nil
}

// begin starts on the database that is there, or on a new one.
func (l *Ledger) begin(ctx context.Context) error {
	there := lookAt(l.dir)
	if there != nil && !errors.Is(there, fs.ErrNotExist) && !unborn(l.dir) {
		return there
	}
	err := l.start(ctx)
	if err != nil && there != nil {
		err = errors.Join(err, l.disconnect(), forgetEmpty(l.dir))
	}
	return err
}

// start migrates, then opens the connections that stay.
func (l *Ledger) start(ctx context.Context) error {
	if err := l.upgrade(ctx); err != nil {
		return err
	}
	if err := l.connect(ctx); err != nil {
		return err
	}
	var err error
	if l.here, err = takePresence(l.dir); err != nil {
		return err
	}
	l.keeper = keep(l)
	return nil
}

func (l *Ledger) upgrade(ctx context.Context) error {
	db, err := openPool(l.dir, 1, "", writerPragmas(l.opts)...)
	if err != nil {
		return err
	}
	return errors.Join(migrate(ctx, db), db.Close())
}

// connect opens the writer and the readers.
func (l *Ledger) connect(ctx context.Context) error {
	w, err := openWriter(ctx, l.dir, l.opts)
	if err != nil {
		return err
	}
	r, short, err := openReaders(l.dir, l.opts.Readers, "")
	if err != nil {
		return errors.Join(err, w.close())
	}
	k, err := openPool(l.dir, 1, "", writerPragmas(l.opts)...)
	if err != nil {
		return errors.Join(err, w.close(), r.Close(), short.Close())
	}
	l.w, l.r, l.short, l.k = w, r, short, k
	return nil
}

// Close waits for the calls that are under way and ends the ledger. The log is
// moved into the database, and the folder is free for another process.
func (l *Ledger) Close() error {
	if l.keeper != nil {
		l.keeper.stop()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reads.Lock()
	defer l.reads.Unlock()
	if l.closed {
		return nil
	}
	l.closed = true
	err := l.disconnect()
	if l.lock != nil {
		err = errors.Join(err, l.lock.Close())
	}
	return err
}

// disconnect closes every connection; the keeper's last, so that it decides
// what becomes of the log. Both locks are held.
func (l *Ledger) disconnect() error {
	var errs []error
	if l.r != nil {
		errs = append(errs, l.r.Close())
		l.r = nil
	}
	if l.short != nil {
		errs = append(errs, l.short.Close())
		l.short = nil
	}
	if l.w != nil {
		errs = append(errs, l.w.close())
		l.w = nil
	}
	if l.k != nil {
		errs = append(errs, l.k.Close())
		l.k = nil
	}
	return errors.Join(errs...)
}

// shortReaders are enough: each read takes microseconds.
const shortReaders = 2

// openReaders opens the pool of n readers, and that for short reads.
func openReaders(dir string, n int, query string) (r, short *sql.DB, err error) {
	pragmas := []string{"busy_timeout(5000)", "query_only(1)"}
	if r, err = openPool(dir, n, query, pragmas...); err != nil {
		return nil, nil, err
	}
	if short, err = openPool(dir, shortReaders, query, pragmas...); err != nil {
		return nil, nil, errors.Join(err, r.Close())
	}
	return r, short, nil
}

// openPool opens a pool of at most n connections to the database in dir.
func openPool(dir string, n int, query string, pragmas ...string) (*sql.DB, error) {
	dsn := (&url.URL{Scheme: "file", Path: filepath.Join(dir, fileName)}).String() + "?" + query
	for _, p := range pragmas {
		dsn += "&_pragma=" + p
	}
	c, err := sqlite.NewConnector(dsn)
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(c)
	db.SetMaxOpenConns(n)
	db.SetMaxIdleConns(n)
	return db, nil
}

func writerPragmas(o Options) []string {
	return []string{
		"busy_timeout(5000)", // milliseconds; somebody else may be reading with sqlite3
		"journal_mode(WAL)",
		"synchronous(FULL)",
		"wal_autocheckpoint(0)", // the keeper does it, beside the writer
		// The journal of a statement lives in memory: an INSERT of many rows
		// copies there each page that it changes (a tenth of the time of a
		// batch of random users when it is a file).
		"temp_store(MEMORY)",
		"cache_size(-" + strconv.Itoa(o.CacheMiB*1024) + ")",
	}
}

var errReadOnly = errors.New("the ledger was opened for reading only")

var errClosed = errors.New("the ledger is closed")
