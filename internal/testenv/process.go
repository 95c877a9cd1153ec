package testenv

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// process is a server that was started here.
type process struct {
	cmd    *exec.Cmd
	output tail
	exited chan struct{}
	err    error // of the exit; read after exited is closed
}

// start runs a program in a folder. The program is looked up first, so that a
// missing one is told from one that fails.
func start(debianPackage, dir, program string, args ...string) (*process, error) {
	path, err := exec.LookPath(program)
	if err != nil {
		return nil, fmt.Errorf("%s is not installed: run `make servers`, or install %s", program, debianPackage)
	}
	p := &process{cmd: exec.Command(path, args...), exited: make(chan struct{})}
	p.cmd.Dir = dir
	p.cmd.Stdout, p.cmd.Stderr = &p.output, &p.output
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", program, err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.exited)
	}()
	return p, nil
}

// ready asks again and again whether the server answers, until it does, it
// ends, or the time is over.
func (p *process) ready(within time.Duration, answers func() error) error {
	deadline := time.NewTimer(within)
	defer deadline.Stop()
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for {
		err := answers()
		if err == nil {
			return nil
		}
		select {
		case <-p.exited:
			return fmt.Errorf("%s ended at once: %w\n%s", p.cmd.Path, errors.Join(p.err, err), p.output.String())
		case <-deadline.C:
			return fmt.Errorf("%s did not answer within %s: %w\n%s", p.cmd.Path, within, err, p.output.String())
		case <-again.C:
		}
	}
}

// stop ends the server: politely, and after 5 seconds by force. It may be
// called more than once.
func (p *process) stop() {
	select {
	case <-p.exited:
		return
	default:
	}
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // an error means that it has just ended
	select {
	case <-p.exited:
	case <-time.After(5 * time.Second):
		_ = p.cmd.Process.Kill()
		<-p.exited
	}
}

// freePort returns a TCP port of the loopback address that nobody has at this
// moment. Somebody may take it before the server does: then start again.
func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
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

// writable says whether a folder can be written to; servers tell it badly.
func writable(dir string) error {
	f, err := os.CreateTemp(dir, "probe")
	if err != nil {
		return fmt.Errorf("folder of the server: %w", err)
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}
