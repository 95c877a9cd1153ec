// Package binary runs the real program for tests: built once, started on a
// free port, spoken to over HTTP, and ended by signals like any other process.
package binary

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
)

// Build builds rushgate into a folder and returns the file's path.
func Build(dir string) (string, error) {
	path := filepath.Join(dir, "rushgate")
	out, err := exec.Command("go", "build", "-o", path, "rushgate/cmd/rushgate").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("go build: %w: %s", err, out)
	}
	return path, nil
}

// Result is what a command that has ended leaves behind.
type Result struct {
	Out, Err string
	Status   int
}

// Run runs a command to its end.
func Run(path string, args ...string) (Result, error) { return RunWith(path, nil, "", args...) }

// RunWith is Run with further environment variables ("NAME=value") and a
// standard input.
func RunWith(path string, env []string, in string, args ...string) (Result, error) {
	var out, errs bytes.Buffer
	cmd := command(path, env, args)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(in), &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return Result{}, err
	}
	return Result{Out: out.String(), Err: errs.String(), Status: cmd.ProcessState.ExitCode()}, nil
}

// command leaves the RUSHGATE_ variables of whoever runs the tests out.
func command(path string, env, args []string) *exec.Cmd {
	cmd := exec.Command(path, args...)
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "RUSHGATE_") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(cmd.Env, env...)
	endWithParent(cmd)
	return cmd
}

// Server is a `rushgate serve` that runs.
type Server struct {
	URL string

	cmd    *exec.Cmd
	mu     sync.Mutex
	log    bytes.Buffer
	ready  chan string // its URL, when it serves
	ended  chan struct{}
	status int
}

// Serve starts a server on a free port, with further flags, and returns when
// it answers.
func Serve(path string, flags ...string) (*Server, error) {
	s, err := Start(path, flags...)
	if err != nil {
		return nil, err
	}
	return s, s.Await()
}

// Start is Serve without waiting.
func Start(path string, flags ...string) (*Server, error) {
	args := append([]string{"serve", "--listen", "127.0.0.1:0", "--log-format", "json"}, flags...)
	return StartCommand(path, nil, args...)
}

// StartCommand starts any command that logs "serving" with its url as JSON.
func StartCommand(path string, env []string, args ...string) (*Server, error) {
	s := &Server{cmd: command(path, env, args), ready: make(chan string, 1), ended: make(chan struct{})}
	logs, err := s.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	go s.watch(logs)
	return s, nil
}

// maxLine is the longest line of a log that is read: nothing is read after a longer one.
const maxLine = 16 << 20

// watch reads the log to its end, and then the exit status.
func (s *Server) watch(logs io.Reader) {
	defer close(s.ended)
	lines := bufio.NewScanner(logs)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		s.mu.Lock()
		s.log.Write(append(lines.Bytes(), '\n'))
		s.mu.Unlock()
		var line struct{ Msg, URL string }
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.Msg == "serving" {
			s.ready <- line.URL
		}
	}
	_ = s.cmd.Wait() // the status is all that there is to know
	s.status = s.cmd.ProcessState.ExitCode()
}

// Await returns when the server serves, or with an error when it has ended.
func (s *Server) Await() error {
	select {
	case s.URL = <-s.ready:
		return nil
	case <-s.ended:
		select {
		case s.URL = <-s.ready: // it did, and then it ended
			return nil
		default:
		}
		return fmt.Errorf("the server ended with status %d: %s", s.status, s.Log())
	}
}

// Kill ends the process as a power cut would end it, and waits.
func (s *Server) Kill() {
	_ = s.cmd.Process.Kill() // it may have ended already
	<-s.ended
}

// Signal sends a signal.
func (s *Server) Signal(sig os.Signal) error { return s.cmd.Process.Signal(sig) }

// Wait waits until the process has ended and returns its exit status, -1 if a
// signal ended it.
func (s *Server) Wait() int {
	<-s.ended
	return s.status
}

// Ended is closed when the process has ended.
func (s *Server) Ended() <-chan struct{} { return s.ended }

// Log returns what the server has logged.
func (s *Server) Log() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.String()
}
