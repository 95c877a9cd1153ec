package testenv

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"
)

// Server is what all servers here have in common: how they are ended, started
// again and paused. The methods may be called by several goroutines.
type Server struct {
	Addr string // host:port, the same for its whole life

	program program
	answers func(pid int) error // whether this process serves at Addr
	within  time.Duration       // which it has to answer after its start

	mu      sync.Mutex // guards the rest
	process *process
	paused  bool
}

// starting is how long a server may take until it serves: a busy machine, and what a
// crash has left to be done, are no failures.
const starting = 2 * time.Minute

// errRuns: a port and a folder belong to one server.
var errRuns = errors.New("the server runs already")

// Start starts the server again after Stop or Kill, on the same port and with
// the same data, and returns when it serves.
func (s *Server) Start() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process != nil && s.process.running() {
		return errRuns
	}
	p, err := s.program.start()
	if err != nil {
		return err
	}
	if err := p.ready(s.within, s.answers); err != nil {
		p.kill()
		return err
	}
	s.process, s.paused = p, false
	return nil
}

// Restart stops the server politely and starts it again.
func (s *Server) Restart(t testing.TB) {
	t.Helper()
	s.Stop()
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
}

// Stop ends the server politely, after 20 seconds by force, and waits until it
// has ended. A paused server is resumed for it. It may be called again.
func (s *Server) Stop() { s.now().stop() }

// Kill ends the server with all its processes by SIGKILL, and waits until they
// are gone. It may be called again.
func (s *Server) Kill() { s.now().kill() }

// Pause makes the server stand still with all its processes (SIGSTOP): its port
// and its connections stay open, and nobody answers.
func (s *Server) Pause() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.paused = true
	return s.process.pause()
}

// Resume lets a paused server go on.
func (s *Server) Resume() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.paused = false
	return s.process.resume()
}

// PID returns the id of the server's (first) process, for accounting. It is
// another one after a restart.
func (s *Server) PID() int { return s.now().pid() }

// Running says whether the server has been started and has not ended. A paused
// server runs.
func (s *Server) Running() bool { return s.now().running() }

// awake says whether the server can be expected to answer.
func (s *Server) awake() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.process.running() && !s.paused
}

func (s *Server) now() *process {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.process
}

// notOurs: that something answers does not mean that it is ours.
func (s *Server) notOurs() error { return fmt.Errorf("another server answers at %s", s.Addr) }
