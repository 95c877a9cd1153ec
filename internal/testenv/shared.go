package testenv

import (
	"errors"
	"os"
	"sync"
	"testing"
)

// Shared is one server for all tests of a package: a server that takes seconds
// to set up is started for the first test that asks for it, and ended after the
// last one. A test package has it as a variable and wraps its run:
//
//	var postgres = testenv.SharedPostgres()
//
//	func TestMain(m *testing.M) { goleak.VerifyTestMain(postgres.Around(m)) }
//
//	func TestLedger(t *testing.T) { url := postgres.Server(t).NewDatabase(t) … }
//
// A test that stops, kills or pauses a server starts one of its own.
type Shared[S interface{ Stop() }] struct {
	start func(dir string) (S, error)

	mu      sync.Mutex // guards the rest, and that the server is started once
	dir     string
	server  S
	started bool
	err     error // of the start: no test tries again what takes long to fail
}

// SharedPostgres is a PostgreSQL for all tests of a package.
func SharedPostgres(settings ...string) *Shared[*PostgresServer] {
	return &Shared[*PostgresServer]{start: func(dir string) (*PostgresServer, error) { return StartPostgres(dir, settings...) }}
}

// SharedMariaDB is a MariaDB for all tests of a package.
func SharedMariaDB(settings ...string) *Shared[*MariaDBServer] {
	return &Shared[*MariaDBServer]{start: func(dir string) (*MariaDBServer, error) { return StartMariaDB(dir, settings...) }}
}

// SharedRedis is a Redis for all tests of a package.
func SharedRedis(settings ...string) *Shared[*RedisServer] {
	return &Shared[*RedisServer]{start: func(dir string) (*RedisServer, error) { return StartRedis(dir, settings...) }}
}

// Server returns the server, which is started if it was not yet.
func (s *Shared[S]) Server(t testing.TB) S {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.started && s.err == nil {
		s.err = s.begin()
	}
	if s.err != nil {
		t.Fatal(s.err)
	}
	return s.server
}

func (s *Shared[S]) begin() (err error) {
	if s.dir, err = os.MkdirTemp("", "rushgate-servers-"); err != nil {
		return err
	}
	if s.server, err = s.start(s.dir); err != nil {
		return errors.Join(err, os.RemoveAll(s.dir))
	}
	s.started = true
	return nil
}

// end stops the server and removes what it kept.
func (s *Shared[S]) end() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.started {
		return nil
	}
	s.server.Stop()
	s.started = false
	return os.RemoveAll(s.dir)
}

// Tests is a run of tests, as testing.M is one.
type Tests interface{ Run() int }

// Around returns the same tests, with the end of the server after the last one.
func (s *Shared[S]) Around(tests Tests) Tests { return around{tests: tests, end: s.end} }

type around struct {
	tests Tests
	end   func() error
}

// Run runs the tests. A server that cannot be cleared away fails them.
func (a around) Run() int {
	status := a.tests.Run()
	if err := a.end(); err != nil {
		os.Stderr.WriteString("end of the shared server: " + err.Error() + "\n")
		return max(status, 1)
	}
	return status
}
