package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// errNoDatabase marks what is in the place of the database and is none.
var errNoDatabase = errors.New("not a database")

// unborn says that the database in dir is an empty file beside which there is
// nothing but what a first start makes before it: the first start was killed
// in the middle. Where a server has been, there is more: its admin token, say.
func unborn(dir string) bool {
	info, err := os.Stat(filepath.Join(dir, fileName))
	if err != nil || !info.Mode().IsRegular() || info.Size() != 0 {
		return false
	}
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		switch e.Name() {
		case fileName, fileName + "-wal", fileName + "-shm", fileName + "-journal", lockName:
		default:
			return false
		}
	}
	return err == nil
}

// lookAt looks at the database in dir before SQLite does, which takes an empty
// file for a new database: a ledger that somebody has truncated would start
// with nothing sold. The error is fs.ErrNotExist when there is none.
func lookAt(dir string) error {
	path := filepath.Join(dir, fileName)
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is %w, nor a file at all: move it away, or name another folder", path, errNoDatabase)
	case info.Size() == 0:
		return fmt.Errorf("%s is %w, but an empty file: restore it from a backup, or remove it to begin with nothing sold", path, errNoDatabase)
	}
	return nil
}

// forgetEmpty removes the empty file that a first start that failed has left:
// it would be in the way of the next one. The folder is locked.
func forgetEmpty(dir string) error {
	path := filepath.Join(dir, fileName)
	info, err := os.Stat(path)
	if err == nil && info.Mode().IsRegular() && info.Size() == 0 {
		err = os.Remove(path)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
