package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"rushgate"
)

// ErrCorrupt marks an error that says that the database file is damaged.
// Nothing that it holds can be relied on: the program should stop.
var ErrCorrupt error = lost("the ledger's database is damaged")

// ErrGone marks an error that says that the files of the ledger were removed or
// replaced while it was open: the program should stop.
var ErrGone error = lost("the ledger's files were removed or replaced")

// lost is an error that is rushgate.ErrLost.
type lost string

// Error implements error.
func (l lost) Error() string { return string(l) }

// Is makes the error one that a service stops for.
func (lost) Is(target error) bool { return target == rushgate.ErrLost }

// ErrLocked marks the error of Open when another process has the folder.
var ErrLocked = errors.New("another process uses this folder")

// ErrNewer marks the error of Open when a newer Rushgate wrote the database.
var ErrNewer = errors.New("made by a newer Rushgate")

// resultCode returns SQLite's extended result code of an error, 0 for errors
// of other origin.
func resultCode(err error) int {
	var e *sqlite.Error
	if errors.As(err, &e) {
		return e.Code()
	}
	return 0
}

// primary cuts an extended result code down to the primary one.
func primary(code int) int { return code & 0xff }

// damaged says that SQLite met something in the file that it cannot have written.
func damaged(err error) bool {
	switch primary(resultCode(err)) {
	case lib.SQLITE_CORRUPT, lib.SQLITE_NOTADB:
		return true
	}
	return false
}

// wrap names the operation that failed, and marks damage.
func wrap(what string, err error) error {
	if err == nil {
		return nil
	}
	var barrier *rushgate.BarrierError
	var refusal *rushgate.Error
	switch {
	case errors.As(err, &barrier), errors.As(err, &refusal):
		return err
	case damaged(err):
		return fmt.Errorf("%s: %w: %w", what, ErrCorrupt, err)
	}
	return fmt.Errorf("%s: %w", what, err)
}

// definite says that a COMMIT that failed with err has certainly not happened.
//
// In a write-ahead log the frame that makes a commit valid is written last. A
// full disk means that some frame did not fit, so that the last one is not
// there; a busy database refuses before it writes. Everything else, above all
// a failed fsync, may have left a valid log behind.
func definite(err error) bool {
	switch primary(resultCode(err)) {
	case lib.SQLITE_FULL, lib.SQLITE_BUSY, lib.SQLITE_CONSTRAINT:
		return true
	}
	return false
}

// explain turns what went wrong with a folder into one line that says how to
// mend it.
func explain(dir string, err error) error {
	switch {
	case err == nil, errors.Is(err, ErrLocked), errors.Is(err, errNoDatabase): // which name the place themselves
		return err
	case errors.Is(err, ErrNewer):
		return fmt.Errorf("the ledger in %s was %w", dir, err)
	case damaged(err):
		return fmt.Errorf("%s/%s: %w, or is no Rushgate database: restore it from a backup, or move it away to start empty (%w)",
			dir, fileName, ErrCorrupt, err)
	case errors.Is(err, syscall.ENOTDIR):
		return fmt.Errorf("%s is not a folder: name a folder for the data, or one that can be made (%w)", dir, err)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("there is no ledger in %s: name the folder of a server's data (%w)", dir, err)
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS), unwritable(err):
		return fmt.Errorf("the folder %s cannot be written: give this user the right to, or name another folder (%w)", dir, err)
	case full(err):
		return fmt.Errorf("the disk of %s is full: make room and start again (%w)", dir, err)
	case primary(resultCode(err)) == lib.SQLITE_BUSY:
		return fmt.Errorf("another program keeps %s/%s locked: end it and start again (%w)", dir, fileName, err)
	}
	return fmt.Errorf("the ledger in %s cannot be opened: %w", dir, err)
}

// explainMaking is explain for a folder that was not there.
func explainMaking(dir string, err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("the folder %s cannot be made there: name another folder (%w)", dir, err)
	}
	return explain(dir, err)
}

// full says that the disk is. Where there is no room for the index of the log,
// SQLite does not speak of a full disk.
func full(err error) bool {
	code := resultCode(err)
	return primary(code) == lib.SQLITE_FULL || code == lib.SQLITE_IOERR_SHMSIZE ||
		errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

func unwritable(err error) bool {
	switch primary(resultCode(err)) {
	case lib.SQLITE_READONLY, lib.SQLITE_CANTOPEN, lib.SQLITE_PERM:
		return true
	}
	return false
}

// noTransaction says that a ROLLBACK found nothing to do: SQLite had rolled
// back by itself, as it does when the disk is full.
func noTransaction(err error) bool {
	return primary(resultCode(err)) == lib.SQLITE_ERROR && strings.Contains(err.Error(), "no transaction is active")
}
