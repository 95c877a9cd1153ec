package sqlite

import (
	"fmt"
	"os"
	"path/filepath"
)

// presence knows the files of an open ledger as they were when it was opened.
//
// Somebody may remove or replace them under a running server, and nothing
// fails: the connections go on writing into files that have no name any more,
// and a second server may take the lock of the new ones. So every batch and
// every read looks whether the names still mean these files, a microsecond
// each, before anybody is answered.
type presence []os.FileInfo

var presentFiles = [...]string{fileName, lockName}

// takePresence looks at the files of a ledger that was just opened.
func takePresence(dir string) (presence, error) {
	var p presence
	for _, name := range presentFiles {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			return nil, err
		}
		p = append(p, info)
	}
	return p, nil
}

// check returns ErrGone when a name means another file, or none.
func (p presence) check(dir string) error {
	for i, was := range p {
		path := filepath.Join(dir, presentFiles[i])
		if now, err := os.Stat(path); err != nil || !os.SameFile(was, now) {
			return fmt.Errorf("%w: %s is not the file that this server opened: stop whatever removes it, restore the folder from a backup if need be, and start again",
				ErrGone, path)
		}
	}
	return nil
}
