package main

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

func TestDemoOnce(t *testing.T) {
	out := succeeds(t, "demo", "--once", "--people", "2000", "--stock", "50", "--listen", "127.0.0.1:0")
	for _, want := range []string{"50  granted", "never_oversold", "p99", "limit_per_user"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in %s", want, out)
		}
	}
	if strings.Contains(out, "\x1b[") {
		t.Error("colours where there is no terminal")
	}
	folder := regexp.MustCompile(`ledger +(\S+)/rushgate\.db`).FindStringSubmatch(out)
	if folder == nil {
		t.Fatalf("no folder in %s", out)
	}
	if _, err := os.Stat(filepath.Dir(folder[1])); err == nil {
		t.Errorf("%s is still there", folder[1])
	}
}

// More phones than people: nobody leaves without.
func TestDemoWithPlenty(t *testing.T) {
	out := succeeds(t, "demo", "--once", "--people", "20", "--stock", "50", "--listen", "127.0.0.1:0")
	if !strings.Contains(out, "20  granted") {
		t.Error(out)
	}
}

// The lines that the demo invites to are pasted into a real shell, in their
// order, and do what they say.
func TestDemoLinesWork(t *testing.T) {
	cmd := exec.Command(program, "demo", "--people", "300", "--stock", "10", "--listen", "127.0.0.1:0")
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	var folder string
	var lines []string
	for in := bufio.NewScanner(stdout); in.Scan(); {
		line := strings.TrimSpace(in.Text())
		if strings.HasPrefix(line, "ledger") {
			folder = filepath.Dir(strings.Fields(line)[1])
		}
		if strings.HasPrefix(line, "curl ") {
			lines = append(lines, line)
		}
		if strings.HasPrefix(line, "the whole API") {
			break
		}
	}
	wants := []string{`"sold_out"`, `"code":"sold_out"`, `"stock":15`, `"state":"held"`, `"free":4`, `"ok":true`, `"claim.held"`}
	if len(lines) != len(wants) {
		t.Fatalf("%d lines to try, want %d: %q", len(lines), len(wants), lines)
	}
	for i, line := range lines {
		if out := paste(t, line, wants[i]); !strings.Contains(out, wants[i]) {
			t.Errorf("%s\nprints %s, want %s", line, out, wants[i])
		}
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("the demo ended with %v", err)
	}
	if _, err := os.Stat(folder); err == nil || folder == "" {
		t.Errorf("the folder %q is still there", folder)
	}
}

// paste runs a line in a shell until it ends or has printed what is wanted: a
// stream of events would go on for ever.
func paste(t *testing.T, line, want string) string {
	t.Helper()
	cmd := exec.Command("sh", "-c", "exec "+line)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for buf := make([]byte, 4096); !strings.Contains(out.String(), want); {
		n, err := stdout.Read(buf)
		out.Write(buf[:n])
		if err != nil {
			break
		}
	}
	_ = cmd.Process.Kill() // it may have ended already
	_ = cmd.Wait()
	return out.String()
}

// Ctrl-C in the middle of the crowd ends the demo well and removes its folder.
func TestDemoInterrupted(t *testing.T) {
	cmd := exec.Command(program, "demo", "--people", "10000000", "--listen", "127.0.0.1:0")
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	var folder string
	for in := bufio.NewScanner(stdout); in.Scan(); {
		line := strings.TrimSpace(in.Text())
		if strings.HasPrefix(line, "ledger") {
			folder = filepath.Dir(strings.Fields(line)[1])
		}
		if strings.Contains(line, "people have their answer") { // the crowd is inside
			if err := cmd.Process.Signal(os.Interrupt); err != nil {
				t.Fatal(err)
			}
			break
		}
	}
	_, _ = io.Copy(io.Discard, stdout)
	if err := cmd.Wait(); err != nil {
		t.Errorf("the demo ended with %v", err)
	}
	if _, err := os.Stat(folder); err == nil || folder == "" {
		t.Errorf("the folder %q is still there", folder)
	}
}

// On a terminal the bars are drawn over themselves; elsewhere lines follow
// each other.
func TestScreen(t *testing.T) {
	p := progress{arrived: 12_345, people: 20_000, sold: 100, stock: 100}
	var out bytes.Buffer
	end := (&screen{w: &out, moves: true, colour: true}).follow(func() progress { return p })
	end()
	for _, want := range []string{"\x1b[2A", "12,345 of 20,000", "\x1b[32m", "\x1b[?25h"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the terminal shows no %q: %q", want, out.String())
		}
	}
	out.Reset()
	end = newScreen(&out).follow(func() progress { return p })
	end()
	if got, want := out.String(), "  12,345 of 20,000 people have their answer, 100 of 100 phones are sold\n"; got != want {
		t.Errorf("without a terminal: %q, want %q", got, want)
	}
}

func TestGrouped(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", -1234567: "-1,234,567", -100: "-100"} {
		if got := grouped(n); got != want {
			t.Errorf("grouped(%d) = %s", n, got)
		}
	}
}
