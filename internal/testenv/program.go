package testenv

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"
)

// program is a way to run something: the same each time, so that a server can
// be started again.
type program struct {
	path     string // absolute
	args     []string
	dir      string              // in which it runs
	env      []string            // nil: that of the test
	as       *syscall.Credential // nil: who runs the test
	farewell syscall.Signal      // asks it to end
}

// find looks a program up, on the PATH first and then in the folders where
// distributions put what only administrators call. Folders may hold wildcards;
// the last match, which is the newest version, is taken. The path has no links
// in it, so that what was installed together is found together.
func find(name, debianPackage string, folders ...string) (string, error) {
	path, err := exec.LookPath(name)
	for _, folder := range folders {
		if err == nil {
			break
		}
		found, _ := filepath.Glob(filepath.Join(folder, name)) // patterns are ours
		slices.Reverse(found)
		for _, f := range found {
			if path, err = exec.LookPath(f); err == nil {
				break
			}
		}
	}
	if err != nil {
		return "", fmt.Errorf("%s is not installed: run `make servers`, or install %s", name, debianPackage)
	}
	return path, nil
}

// outputDelay is how long the output of a program may take to arrive when it has
// ended: as long as a child of it holds it open, or we get no processor.
const outputDelay = 10 * time.Second

// run runs a program to its end, which must come within three minutes, and returns
// what it says.
func (p program) run() (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, p.path, p.args...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = p.dir, p.env, outputDelay
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: p.as}
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s", filepath.Base(p.path), err, out)
	}
	return string(out), nil
}
