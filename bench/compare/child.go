package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"rushgate/bench/load"
)

// child is a server that runs as a process of its own.
type child struct {
	name   string
	cmd    *exec.Cmd
	said   output
	exited chan struct{}
	err    error // of the exit; read after exited is closed
}

func start(name, dir, program string, args ...string) (*child, error) {
	c := &child{name: name, cmd: exec.Command(program, args...), exited: make(chan struct{})}
	c.cmd.Dir = dir
	c.cmd.Stdout, c.cmd.Stderr = &c.said, &c.said
	if err := c.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	go func() {
		c.err = c.cmd.Wait()
		close(c.exited)
	}()
	return c, nil
}

// startWithin is how long a server may take until it answers.
const startWithin = 20 * time.Second

// until asks again and again until ready says so.
func (c *child) until(ready func() bool) error {
	deadline := time.NewTimer(startWithin)
	defer deadline.Stop()
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for !ready() {
		select {
		case <-c.exited:
			return fmt.Errorf("%s ended at once: %w\n%s", c.name, errors.Join(c.err, errEnded), c.said.String())
		case <-deadline.C:
			return fmt.Errorf("%s did not answer within %s\n%s", c.name, startWithin, c.said.String())
		case <-again.C:
		}
	}
	return nil
}

var errEnded = errors.New("it should have kept running")

// stop ends the server: politely, and after 15 seconds by force. A server that
// does not end well is an error; a second stop is none.
func (c *child) stop() error {
	select {
	case <-c.exited:
		return nil
	default:
	}
	_ = c.cmd.Process.Signal(syscall.SIGTERM) // an error means that it has just ended
	select {
	case <-c.exited:
	case <-time.After(15 * time.Second):
		_ = c.cmd.Process.Kill()
		<-c.exited
		return fmt.Errorf("%s did not end within 15 s of SIGTERM", c.name)
	}
	var exit *exec.ExitError
	if errors.As(c.err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGTERM {
		return nil
	}
	if c.err != nil {
		return fmt.Errorf("%s: %w\n%s", c.name, c.err, c.said.String())
	}
	return nil
}

func (c *child) pid() int { return c.cmd.Process.Pid }

// cpu returns the processor time that a process has used. Linux counts it in
// hundredths of a second.
func cpu(pid int) time.Duration {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	// The name stands in parentheses and may hold anything; after it come
	// state, 10 numbers, and then user and system time.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.ParseInt(fields[11], 10, 64) // 0 if the kernel writes something else
	system, _ := strconv.ParseInt(fields[12], 10, 64)
	return time.Duration(user+system) * 10 * time.Millisecond
}

// children returns the processes that a process has started and that live.
func children(pid int) []int {
	var list []int
	for _, text := range strings.Fields(firstLine(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))) {
		if child, err := strconv.Atoi(text); err == nil {
			list = append(list, child)
		}
	}
	return list
}

// busy returns the processor time that the whole machine has used since it
// was started, by whomever.
func busy() time.Duration {
	fields := strings.Fields(firstLine("/proc/stat"))
	if len(fields) < 9 {
		return 0
	}
	var ticks int64
	for i, text := range fields[1:9] { // user nice system idle iowait irq softirq steal
		if i != 3 && i != 4 {
			n, _ := strconv.ParseInt(text, 10, 64) // 0 if the kernel writes something else
			ticks += n
		}
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}

func firstLine(file string) string {
	content, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(string(content), "\n")
	return line
}

// resident returns the bytes of memory that a process has resident.
func resident(pid int) int64 {
	var kib int64
	if _, err := fmt.Sscan(load.Proc(fmt.Sprintf("/proc/%d/status", pid), "VmRSS"), &kib); err != nil {
		return 0
	}
	return kib << 10
}

// output keeps what a server says, up to a bound.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

const mostOutput = 64 << 10

// Write keeps the beginning; the rest is dropped.
func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if room := mostOutput - o.buf.Len(); room > 0 {
		o.buf.Write(b[:min(len(b), room)])
	}
	return len(b), nil
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}
