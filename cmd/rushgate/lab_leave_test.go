package main

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// leaving starts a lab, lets it be left when its table begins, and returns what
// it says on standard error, when it has ended by itself with nothing left behind.
func leaving(t *testing.T, leave func(*exec.Cmd), args ...string) string {
	t.Helper()
	var errs strings.Builder
	temporary := t.TempDir()
	cmd := exec.Command(program, append([]string{"lab"}, args...)...)
	cmd.Env = append(os.Environ(), "TMPDIR="+temporary)
	cmd.Stderr = &errs
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // as a shell does: a signal goes to all of them
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	hanging := time.AfterFunc(time.Minute, func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	defer hanging.Stop()
	lines := bufio.NewScanner(out)
	for lines.Scan() && !strings.Contains(lines.Text(), "granted") {
	}
	leave(cmd)
	if err := out.Close(); err != nil {
		t.Error(err)
	}
	_ = cmd.Wait() // the status says it
	if cmd.ProcessState.ExitCode() != 1 {
		t.Errorf("%s: %s", cmd.ProcessState, errs.String())
	}
	if rest, _ := os.ReadDir(temporary); len(rest) > 0 {
		t.Errorf("it left %v", rest)
	}
	return errs.String()
}

// TestLabLeftAlone: nobody reads the table any more. What was started ends with it.
// It has more ways to try than it can before this test has left.
func TestLabLeftAlone(t *testing.T) {
	said := leaving(t, func(*exec.Cmd) {}, "--strategy", "redis,sqlite,rushgate-memory",
		"--stock", "20", "--buyers", "100", "--no-pause", "--no-crash", "--no-admin", "--duration", "2s")
	if !strings.Contains(said, "interrupted") {
		t.Error(said)
	}
}

// TestLabInterrupted by whatever ends a program politely: the report has what was
// learned until then.
func TestLabInterrupted(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		t.Run(signal.String(), func(t *testing.T) {
			t.Parallel()
			data := filepath.Join(t.TempDir(), "lab.json")
			said := leaving(t, func(cmd *exec.Cmd) {
				if err := syscall.Kill(-cmd.Process.Pid, signal); err != nil {
					t.Error(err)
				}
			}, "--strategy", "redis-lua,rushgate-memory", "--stock", "1000000", "--buyers", "1000000", "--duration", "30s", "--out", data)
			if !strings.Contains(said, "interrupted") {
				t.Error(said)
			}
			if text, err := os.ReadFile(data); err != nil || !strings.Contains(string(text), `"partial": true`) || !strings.Contains(string(text), `"problem": "interrupted"`) {
				t.Errorf("%v: %.2000s", err, text)
			}
		})
	}
}

// TestLabKeepsABetterReport: a lab that could try nothing replaces nothing, and
// leaves no empty file either.
func TestLabKeepsABetterReport(t *testing.T) {
	old, fresh := filepath.Join(t.TempDir(), "old.html"), filepath.Join(t.TempDir(), "new.json")
	if err := os.WriteFile(old, []byte("of yesterday"), 0o600); err != nil {
		t.Fatal(err)
	}
	fails(t, command(t, "lab", "--strategy", "redis-lua", "--redis", "127.0.0.1:1", "--out", old, "--out", fresh), "127.0.0.1:1")
	if text, err := os.ReadFile(old); err != nil || string(text) != "of yesterday" {
		t.Errorf("%q, %v", text, err)
	}
	if _, err := os.Stat(fresh); !os.IsNotExist(err) {
		t.Error("there is an empty report")
	}
}
