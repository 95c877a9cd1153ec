package sqlite

import (
	"context"
	"errors"
	"fmt"

	"rushgate"
)

// doubt leaves the connections behind whose last commit has an unknown end.
// Nothing is read or written before settle has found out. mu is held.
func (l *Ledger) doubt() {
	if err := l.w.close(); err != nil {
		l.opts.Log.Warn("closing the ledger's writer after a failed commit", "error", err)
	}
	l.w = nil
	l.inDoubt.Store(true)
}

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
	if l.w != nil {
		return nil
	}
	l.reads.Lock()
	defer l.reads.Unlock()
	if err := l.disconnect(); err != nil {
		l.opts.Log.Warn("closing the ledger after a failed commit", "error", err)
	}
	if err := l.connect(ctx); err != nil {
		return fmt.Errorf("open the ledger again after a failed commit: %w", err)
	}
	if err := l.w.emptyLog(ctx); err != nil {
		return errors.Join(fmt.Errorf("make the ledger certain after a failed commit: %w", err), l.disconnect())
	}
	l.inDoubt.Store(false)
	return nil
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
	err := l.read(ctx, func(r reader) error {
		return r.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM batches WHERE id = ?)`, b.ID).Scan(&found)
	})
	return found, wrap("look for a batch", err)
}
