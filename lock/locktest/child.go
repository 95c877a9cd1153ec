package locktest

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"rushgate/lock"
)

// The child is the test binary itself, started again as a process that takes a
// lock, and that can be stopped and killed while it has it.
const (
	childWhere = "LOCKTEST_CHILD" // where its backend is
	childCall  = "LOCKTEST_CALL"  // how it takes the lock: see call
)

// call is a lock that a child takes.
type call struct {
	key         string
	need, limit int64
	lease       time.Duration
}

func (c call) String() string {
	return fmt.Sprintf("%s %d %d %d", c.key, c.need, c.limit, c.lease)
}

// Child returns where the backend is when this process is a child, otherwise
// nothing. TestMain asks it first, opens the backend and calls Work.
func Child() string { return os.Getenv(childWhere) }

// Work does the work of a child. It says "asks" and takes its lock, says "held"
// with the fence, and waits for a line from its parent. Then it goes on like one
// that has not noticed any pause: it writes first, and looks afterwards.
func Work(b lock.Backend) int {
	if err := work(b, os.Stdin, os.Stdout); err != nil {
		fmt.Println("error", err)
		return 1
	}
	return 0
}

func work(b lock.Backend, parent io.Reader, out io.Writer) error {
	var c call
	if _, err := fmt.Sscanf(os.Getenv(childCall), "%s %d %d %d", &c.key, &c.need, &c.limit, &c.lease); err != nil {
		return err
	}
	l, err := lock.New(b, InTime(lock.Options{Lease: c.lease}))
	if err != nil {
		return err
	}
	defer l.Close()
	fmt.Fprintln(out, "asks")
	h, err := l.Acquire(context.Background(), c.key, int(c.need), int(c.limit))
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "held", h.Fence())
	if _, err := bufio.NewReader(parent).ReadString('\n'); err != nil {
		return err
	}
	fmt.Fprintln(out, "writes", h.Fence())
	fmt.Fprintln(out, "valid", h.Valid())
	if h.Context().Err() != nil {
		fmt.Fprintln(out, "cause", context.Cause(h.Context()))
	}
	fmt.Fprintln(out, "unlock", h.Unlock(context.Background()))
	if err := l.Close(); err != nil { // what it has still to say to the server is said
		return err
	}
	fmt.Fprintln(out, "over")
	return nil
}

// process is a child that runs.
type process struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines *bufio.Scanner
	fence uint64
}

// start starts a child and returns when it is about to ask for its lock.
func start(t *testing.T, where string, c call) *process {
	t.Helper()
	program, err := os.Executable()
	must(t, err)
	p := &process{cmd: exec.Command(program)}
	p.cmd.Env = append(os.Environ(), childWhere+"="+where, childCall+"="+c.String())
	p.cmd.Stderr = os.Stderr
	p.in, err = p.cmd.StdinPipe()
	must(t, err)
	out, err := p.cmd.StdoutPipe()
	must(t, err)
	p.lines = bufio.NewScanner(out)
	must(t, p.cmd.Start())
	t.Cleanup(p.kill)
	p.says(t, "asks")
	return p
}

// startHolder starts a child and returns when it has its lock.
func startHolder(t *testing.T, where string, c call) *process {
	t.Helper()
	p := start(t, where, c)
	p.holds(t)
	return p
}

func (p *process) holds(t *testing.T) {
	t.Helper()
	if _, err := fmt.Sscanf(p.line(t), "held %d", &p.fence); err != nil {
		t.Fatal(err)
	}
}

func (p *process) line(t *testing.T) string {
	t.Helper()
	if !p.lines.Scan() {
		t.Fatalf("the child has ended: %v", p.lines.Err())
	}
	return p.lines.Text()
}

// says checks what the child says next.
func (p *process) says(t *testing.T, want ...string) {
	t.Helper()
	for _, w := range want {
		if got := p.line(t); got != w {
			t.Fatalf("the child says %q; want %q", got, w)
		}
	}
}

// stop has the child stand still, wherever it is, and returns when it does.
func (p *process) stop(t *testing.T) {
	t.Helper()
	must(t, p.cmd.Process.Signal(syscall.SIGSTOP))
	var status syscall.WaitStatus
	_, err := syscall.Wait4(p.cmd.Process.Pid, &status, syscall.WUNTRACED, nil)
	must(t, err)
	if !status.Stopped() {
		t.Fatalf("the child does not stand still: %#x", status)
	}
}

// wake lets it go on.
func (p *process) wake(t *testing.T) {
	t.Helper()
	must(t, p.cmd.Process.Signal(syscall.SIGCONT))
}

// finish tells a child that has its lock to do its work.
func (p *process) finish(t *testing.T) {
	t.Helper()
	_, err := fmt.Fprintln(p.in, "go on")
	must(t, err)
}

// kill ends the child as a power cut would.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
