package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// OpenReadOnly opens the ledger in a folder for reading, also while a server
// has it open, and also on a file system that cannot be written, as that of a
// backup may be. It takes no lock, migrates nothing and refuses every write.
func OpenReadOnly(ctx context.Context, dir string) (*Ledger, error) {
	var opts Options
	if err := opts.defaults(); err != nil {
		return nil, err
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, explain(dir, err)
	}
	if err := lookAt(abs); err != nil {
		return nil, explainReading(abs, err)
	}
	l := &Ledger{dir: abs, opts: opts}
	err = l.connectReaders(ctx, "mode=ro")
	if unwritable(err) && atRest(abs) {
		// SQLite wants to put a log beside the database even to read it; of a
		// file that nobody changes it takes our word.
		err = errors.Join(l.disconnect(), l.connectReaders(ctx, "mode=ro&immutable=1"))
	}
	if err != nil {
		return nil, errors.Join(explainReading(abs, err), l.Close())
	}
	return l, nil
}

// connectReaders opens the readers, and reads.
func (l *Ledger) connectReaders(ctx context.Context, query string) (err error) {
	if l.r, l.short, err = openReaders(l.dir, l.opts.Readers, query); err != nil {
		return err
	}
	return sameVersion(ctx, l.r)
}

// atRest says that everything that the ledger in dir holds is in the database
// itself, and that no server has it open: no log is beside it.
func atRest(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, fileName+"-shm"))
	return errors.Is(err, fs.ErrNotExist) && !hasLog(dir)
}

// hasLog says that a log with something in it is beside the database in dir.
func hasLog(dir string) bool {
	info, err := os.Stat(filepath.Join(dir, fileName+"-wal"))
	return err == nil && info.Size() > 0
}

// explainReading is explain for a ledger that is only read.
func explainReading(dir string, err error) error {
	switch {
	case unwritable(err) && hasLog(dir):
		return fmt.Errorf("the ledger in %s has a log (%s-wal) beside it, which can be read only where the folder can be written: copy the folder and name the copy (%w)",
			dir, fileName, err)
	case errors.Is(err, fs.ErrPermission), unwritable(err):
		return fmt.Errorf("the ledger in %s cannot be read: give this user the right to, or copy the folder and name the copy (%w)", dir, err)
	}
	return explain(dir, err)
}
