package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"modernc.org/sqlite"

	"rushgate"
)

// doubt notes that the last commit has an unknown end: nothing is read or
// written before settle has found out. mu is held.
func (l *Ledger) doubt() { l.inDoubt.Store(true) }

// settle ends a doubt: it does what a restart would do, and makes its outcome
// last.
//
// All connections are closed, so that the next one to open the file runs
// SQLite's recovery: it reads the log from the file, and a commit whose frames
// got there counts, even though this process had taken it for failed. Then the
// log is moved into the database and cut to nothing. That matters twice: after
// a failed fsync the kernel may hold pages of the log as clean that never
// reached the disk, and the move writes them anew; and a frame that was not
// taken for valid now can never be taken for valid later. mu is held.
func (l *Ledger) settle(ctx context.Context) error {
	if !l.inDoubt.Load() {
		return nil
	}
	l.reads.Lock()
	defer l.reads.Unlock()
	// Where the file is gone, connecting would make a new, empty one.
	if err := l.here.check(l.dir); err != nil {
		return err
	}
	if l.k != nil {
		if err := keepLog(ctx, l.k); err != nil {
			return fmt.Errorf("keep the log of a failed commit: %w", err)
		}
	}
	if err := l.disconnect(); err != nil {
		l.opts.Log.Warn("closing the ledger after a failed commit", "error", err)
	}
	if err := l.connect(ctx); err != nil {
		return fmt.Errorf("open the ledger again after a failed commit: %w", err)
	}
	if err := l.w.emptyLog(ctx); err != nil {
		return fmt.Errorf("make the ledger certain after a failed commit: %w", err)
	}
	l.inDoubt.Store(false)
	return nil
}

// keepLog makes a pool's only connection leave the log where it is when it is
// the last to close. SQLite would delete the log then, and with it, perhaps,
// a commit that a crash at that moment would have brought back.
func keepLog(ctx context.Context, pool *sql.DB) error {
	conn, err := pool.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	var n int64 // a connection that has never read does not know of the log
	if err := conn.QueryRowContext(ctx, `SELECT count(*) FROM sales`).Scan(&n); err != nil {
		return err
	}
	return conn.Raw(func(c any) error {
		_, err := c.(sqlite.FileControl).FileControlPersistWAL("main", 1)
		return err
	})
}

// emptyLog moves the whole log into the database and truncates it.
func (w *writer) emptyLog(ctx context.Context) error {
	var busy, pages, moved int64
	if err := w.conn.QueryRowContext(ctx, `PRAGMA wal_checkpoint(TRUNCATE)`).Scan(&busy, &pages, &moved); err != nil {
		return err
	}
	if busy != 0 {
		return errors.New("another program is reading the database and holds on to its log: end it")
	}
	return nil
}

// Recorded implements [rushgate.Ledger].
func (l *Ledger) Recorded(ctx context.Context, b *rushgate.Batch) (bool, error) {
	var found bool
	err := l.readShortly(ctx, func(r reader) error {
		return r.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM batches WHERE id = ?)`, b.ID).Scan(&found)
	})
	return found, wrap("look for a batch", err)
}
