package testenv

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// writable says whether a folder can be written to; servers tell it badly.
func writable(dir string) error {
	f, err := os.CreateTemp(dir, "probe")
	if err != nil {
		return fmt.Errorf("folder of the server: %w", err)
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// unprivileged returns as whom to run a server that refuses to run as root: nil
// if we are not root, otherwise the first of these users that exists.
func unprivileged(names ...string) (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, name := range names {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
		gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
		if err := errors.Join(err1, err2); err != nil {
			return nil, fmt.Errorf("user %s: %w", name, err)
		}
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
	}
	return nil, fmt.Errorf("root cannot run this server, and none of the users %v exists: run the tests as another user", names)
}

// ownFolder makes a folder that belongs to a user, or to us if there is none.
// The temporary folders above it, which belong to us alone, are opened for
// passing through, not for reading.
func ownFolder(path string, owner *syscall.Credential) error {
	if err := os.Mkdir(path, 0o700); err != nil {
		return fmt.Errorf("folder of the server: %w", err)
	}
	if owner == nil {
		return nil
	}
	if err := os.Chown(path, int(owner.Uid), int(owner.Gid)); err != nil {
		return fmt.Errorf("folder of the server: %w", err)
	}
	temporary := filepath.Clean(os.TempDir()) + string(filepath.Separator)
	for dir := filepath.Dir(path); strings.HasPrefix(dir, temporary); dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		if err != nil {
			return fmt.Errorf("folder of the server: %w", err)
		}
		if err := os.Chmod(dir, info.Mode().Perm()|0o011); err != nil {
			return fmt.Errorf("folder of the server: %w", err)
		}
	}
	return nil
}
