package testenv

import (
	"bytes"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// process is a program that runs, with the processes that it started.
type process struct {
	program program
	cmd     *exec.Cmd
	output  tail
	exited  chan struct{}
	err     error // of the exit; read after exited is closed
}

// start starts the program. It ends with us, even if we are killed.
func (p program) start() (*process, error) {
	s := &process{program: p, cmd: exec.Command(p.path, p.args...), exited: make(chan struct{})}
	s.cmd.Dir, s.cmd.Env = p.dir, p.env
	s.cmd.Stdout, s.cmd.Stderr = &s.output, &s.output
	s.cmd.WaitDelay = outputDelay // a child that outlives it holds its output open
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Credential: p.as}
	endWithParent(s.cmd.SysProcAttr)
	started := make(chan error)
	go func() {
		// The kernel takes the thread that started a process for its parent: this
		// one has to live as long as the process does.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := s.cmd.Start()
		started <- err
		if err == nil {
			s.err = s.cmd.Wait()
			close(s.exited)
		}
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", filepath.Base(p.path), err)
	}
	return s, nil
}

func (s *process) pid() int { return s.cmd.Process.Pid }

func (s *process) running() bool {
	select {
	case <-s.exited:
		return false
	default:
		return true
	}
}

// ready asks again and again whether the server answers, until it does, it
// ends, or the time is over.
func (s *process) ready(within time.Duration, answers func(pid int) error) error {
	err := until(within, s.exited, func() error { return answers(s.pid()) })
	switch {
	case err == nil:
		return nil
	case !s.running():
		return fmt.Errorf("%s ended at once: %w\n%s", s.program.path, errors.Join(s.err, err), s.output.String())
	default:
		return fmt.Errorf("%s did not answer within %s: %w\n%s", s.program.path, within, err, s.output.String())
	}
}

// politeness is how long a server may take to end by itself, and reminder how
// long until it is asked again.
const (
	politeness = 20 * time.Second
	reminder   = time.Second
)

// stop ends the server: politely, and when that takes too long by force. It may
// be called more than once. It asks more than once, too: a Redis that is just
// writing its first append-only file refuses to end, and then forgets that it
// was asked.
func (s *process) stop() {
	if !s.running() {
		return
	}
	_ = s.resume() // who is paused does not listen
	for range politeness / reminder {
		_ = s.cmd.Process.Signal(s.program.farewell) // an error means that it has just ended
		select {
		case <-s.exited:
			return
		case <-time.After(reminder):
		}
	}
	s.kill()
}

// kill ends the server and its children without a chance to do anything more,
// and waits until they are gone. It may be called more than once.
func (s *process) kill() {
	if !s.running() {
		return
	}
	// A parent that stands still has no more children, and buries none: their
	// numbers stay theirs.
	_ = s.signalParent(syscall.SIGSTOP)
	family := children(s.pid())
	_ = s.signalParent(syscall.SIGKILL)
	for _, pid := range family {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	<-s.exited
	for _, pid := range family {
		_ = until(politeness, nil, func() error { return inState(pid, gone) })
	}
}

// pause makes the server and its children stand still, and returns when they
// do. Their connections stay open.
func (s *process) pause() error {
	if err := s.signalParent(syscall.SIGSTOP); err != nil {
		return err
	}
	for _, pid := range children(s.pid()) {
		if err := stand(pid); err != nil {
			return err
		}
	}
	return nil
}

// resume lets the server go on, and its children first.
func (s *process) resume() error {
	for _, pid := range children(s.pid()) {
		if err := syscall.Kill(pid, syscall.SIGCONT); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("resume process %d: %w", pid, err)
		}
	}
	return s.signalParent(syscall.SIGCONT)
}

// signalParent sends a signal to the process alone, and waits for a stop.
func (s *process) signalParent(signal syscall.Signal) error {
	if err := s.cmd.Process.Signal(signal); err != nil {
		return fmt.Errorf("%s to %s: %w", signal, filepath.Base(s.program.path), err)
	}
	if signal != syscall.SIGSTOP {
		return nil
	}
	return until(politeness, s.exited, func() error { return inState(s.pid(), stopped) })
}

func stand(pid int) error {
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("pause process %d: %w", pid, err)
	}
	return until(politeness, nil, func() error { return inState(pid, stopped+gone) })
}

// until asks again and again, until there is no error, the time is over, or
// something has ended that makes further asking vain. It returns the last
// error.
func until(within time.Duration, ended <-chan struct{}, ask func() error) error {
	deadline := time.NewTimer(within)
	defer deadline.Stop()
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	for {
		err := ask()
		if err == nil {
			return nil
		}
		select {
		case <-ended:
			return err
		case <-deadline.C:
			return err
		case <-again.C:
		}
	}
}

// tail keeps the end of what a server says.
type tail struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

const tailBytes = 16 << 10

// Write keeps the last tailBytes.
func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf.Write(b)
	if over := t.buf.Len() - tailBytes; over > 0 {
		t.buf.Next(over)
	}
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.buf.String()
}

var _ fmt.Stringer = (*tail)(nil)
