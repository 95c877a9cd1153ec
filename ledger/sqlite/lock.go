package sqlite

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

const lockName = "lock"

// takeLock makes this process the only one that may write the ledger in dir.
// The lock is the kernel's (flock(2)): it ends with the process, however that
// ends, so that no stale lock is ever in the way. The file holds the pid of
// whoever has the lock, for people.
func takeLock(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		defer f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("%w: %s is in use by %s: stop that server, or name another folder",
				ErrLocked, dir, holder(f))
		}
		return nil, fmt.Errorf("lock %s: %w", f.Name(), err)
	}
	if err := writePID(f); err != nil {
		f.Close()
		return nil, fmt.Errorf("write %s: %w", f.Name(), err)
	}
	return f, nil
}

func writePID(f *os.File) error {
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err := f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return err
}

func holder(f *os.File) string {
	b, err := io.ReadAll(io.LimitReader(f, 32))
	pid := strings.TrimSpace(string(b))
	if _, bad := strconv.Atoi(pid); err != nil || bad != nil {
		return "another process"
	}
	return "process " + pid
}
