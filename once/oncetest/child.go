package oncetest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"rushgate/once"
)

// The child is the test binary itself, started again as a worker that can be
// killed or paused in the middle of its work.
const (
	childStore = "ONCETEST_CHILD" // where its store is
	childKey   = "ONCETEST_KEY"
)

// Child returns where the store is when this process is a child, otherwise
// nothing. TestMain asks it first, opens the store and calls Work.
func Child() string { return os.Getenv(childStore) }

// Work does the work of a child: it says that it is at it, waits for a line from
// its parent, whatever its context says, and returns. Then it says what came of it.
func Work(s once.Store) int {
	o, err := once.New(once.Config{Store: s, Lease: childLease, Patience: time.Minute})
	if err != nil {
		fmt.Println("error", err)
		return 1
	}
	r, err := o.Do(context.Background(), os.Getenv(childKey), func(_ context.Context, a once.Attempt) ([]byte, error) {
		fmt.Println("working", a.Number, a.Token)
		_, err := bufio.NewReader(os.Stdin).ReadString('\n')
		return []byte("child"), err
	})
	fmt.Println("result", string(r.Value), r.Replayed, err)
	return 0
}

// childLease is short, as tests wait for its end, and long enough for a machine that
// is busy: half of it is what a child has to hear what came of its work.
const childLease = 5 * time.Second

// worker is a child that runs.
type worker struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines *bufio.Scanner
	token int64
}

// startWorker starts a child, and returns when it is at work.
func startWorker(t *testing.T, where, key string) *worker {
	t.Helper()
	program, err := os.Executable()
	must(t, err)
	w := &worker{cmd: exec.Command(program)}
	w.cmd.Env = append(os.Environ(), childStore+"="+where, childKey+"="+key)
	w.cmd.Stderr = os.Stderr
	w.in, err = w.cmd.StdinPipe()
	must(t, err)
	out, err := w.cmd.StdoutPipe()
	must(t, err)
	w.lines = bufio.NewScanner(out)
	must(t, w.cmd.Start())
	t.Cleanup(w.kill)
	var number int
	if _, err := fmt.Sscanf(w.line(t), "working %d %d", &number, &w.token); err != nil || number != 1 {
		t.Fatalf("attempt %d, %v", number, err)
	}
	return w
}

func (w *worker) line(t *testing.T) string {
	t.Helper()
	if !w.lines.Scan() {
		t.Fatalf("the child has ended: %v", w.lines.Err())
	}
	return w.lines.Text()
}

// kill ends the child as a power cut would.
func (w *worker) kill() {
	_ = w.cmd.Process.Kill()
	_ = w.cmd.Wait()
}

// RunCrashes runs the tests in which a process dies, or stands still, in the
// middle of its work. where tells a child of the same test binary how to reach
// the store.
func RunCrashes(t *testing.T, where string, s once.Store) {
	t.Run("a redelivered message is processed", func(t *testing.T) { t.Parallel(); redelivered(t, where, s) })
	t.Run("who waits takes over", func(t *testing.T) { t.Parallel(); waitsForDead(t, where, s) })
	t.Run("a worker that stood still", func(t *testing.T) { t.Parallel(); stoodStill(t, where, s) })
}

// redelivered: a consumer is killed while it processes a message. The message is
// delivered again, at once and again and again, and meets the key of the crashed
// attempt. It must not be taken for a duplicate, and acknowledged without having
// been processed.
func redelivered(t *testing.T, where string, s once.Store) {
	w := startWorker(t, where, "message-1")
	w.kill()
	o := node(t, s)
	processed, deliveries := 0, 0
	deliver := func() (acknowledged bool) {
		deliveries++
		r, err := o.Do(t.Context(), "message-1", func(_ context.Context, a once.Attempt) ([]byte, error) {
			processed++
			if a.Number != 2 || a.Token <= w.token {
				t.Errorf("attempt %d of token %d, after token %d", a.Number, a.Token, w.token)
			}
			return []byte("processed"), nil
		}, once.NoWait())
		if errors.Is(err, once.ErrInProgress) {
			return false
		}
		must(t, err)
		if processed == 0 {
			t.Fatalf("the message is acknowledged after %d deliveries, with %+v, and nobody has processed it", deliveries, r)
		}
		return true
	}
	eventually(t, "the message is processed", deliver)
	if !deliver() || processed != 1 {
		t.Errorf("processed %d times", processed)
	}
}

func waitsForDead(t *testing.T, where string, s once.Store) {
	w := startWorker(t, where, "waited")
	o := node(t, s)
	w.kill()
	r, err := o.Do(t.Context(), "waited", returning("parent"))
	wantValue(t, r, err, "parent", false)
}

// stoodStill: a worker is stopped, as by a long pause of its machine, until
// another one has done its work; then it goes on, and cannot overwrite that.
func stoodStill(t *testing.T, where string, s once.Store) {
	w := startWorker(t, where, "paused")
	must(t, w.cmd.Process.Signal(syscall.SIGSTOP))
	o := node(t, s)
	r, err := o.Do(t.Context(), "paused", returning("parent"))
	wantValue(t, r, err, "parent", false)
	if r.Token <= w.token {
		t.Errorf("token %d after %d", r.Token, w.token)
	}
	must(t, w.cmd.Process.Signal(syscall.SIGCONT))
	_, err = fmt.Fprintln(w.in, "go on")
	must(t, err)
	if got, want := w.line(t), "result parent true <nil>"; got != want {
		t.Errorf("the worker that stood still says %q; want %q", got, want)
	}
	r, err = o.Do(t.Context(), "paused", never(t))
	wantValue(t, r, err, "parent", true)
}
