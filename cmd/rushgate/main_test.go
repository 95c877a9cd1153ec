package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"rushgate/internal/binary"
)

// program is the real binary, built once for all tests.
var program string

func TestMain(m *testing.M) { os.Exit(runTests(m)) }

func runTests(m *testing.M) int {
	dir, err := os.MkdirTemp("", "rushgate-cmd-test-*")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	if program, err = binary.Build(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	status := postgres.Around(mariadb.Around(redis.Around(m))).Run()
	if err := goleak.Find(); status == 0 && err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return status
}

// command runs the binary to its end.
func command(t *testing.T, args ...string) binary.Result {
	t.Helper()
	r, err := binary.Run(program, args...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// succeeds runs a command that must end well, and returns its output.
func succeeds(t *testing.T, args ...string) string {
	t.Helper()
	r := command(t, args...)
	if r.Status != 0 || r.Err != "" {
		t.Fatalf("rushgate %s ended with %d: %s%s", strings.Join(args, " "), r.Status, r.Out, r.Err)
	}
	return r.Out
}

// fails holds a failure against the house rule: one line on standard error
// that says what and how to mend it, status 1, no stack trace.
func fails(t *testing.T, r binary.Result, words ...string) {
	t.Helper()
	if r.Status != 1 {
		t.Errorf("status %d, want 1", r.Status)
	}
	line, rest, _ := strings.Cut(r.Err, "\n")
	if rest != "" || !strings.HasPrefix(line, "rushgate: ") || strings.Contains(r.Err, "goroutine") {
		t.Errorf("not one line on standard error: %q", r.Err)
	}
	for _, w := range words {
		if !strings.Contains(line, w) {
			t.Errorf("%q does not say %q", line, w)
		}
	}
}

// serve starts a server that ends with the test.
func serve(t *testing.T, data string, flags ...string) *binary.Server {
	t.Helper()
	s, err := binary.Serve(program, append([]string{"--data", data}, flags...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Kill)
	return s
}
