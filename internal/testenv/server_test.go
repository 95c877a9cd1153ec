package testenv

import (
	"errors"
	"net"
	"syscall"
	"testing"
)

// engines runs a test with each kind of server, and says how to ask it whether
// it answers. The servers are those of all tests here: who ends one starts it
// again.
func engines(t *testing.T, test func(t *testing.T, s *Server, ask func() error)) {
	t.Run("redis", func(t *testing.T) {
		s := Redis(t)
		test(t, &s.Server, func() error { _, err := s.ask("PING"); return err })
	})
	t.Run("postgres", func(t *testing.T) {
		s := postgres.Server(t)
		test(t, &s.Server, func() error { _, err := s.SQL("postgres", "SELECT 1"); return err })
	})
	t.Run("mariadb", func(t *testing.T) {
		s := mariadb.Server(t)
		test(t, &s.Server, func() error { _, err := s.SQL("", "DO 1"); return err })
	})
}

// A paused server keeps its connections and answers nobody; it is the whole
// family of processes that stands still.
func TestAPausedServerAnswersOnlyWhenItIsResumed(t *testing.T) {
	engines(t, func(t *testing.T, s *Server, ask func() error) {
		family := append(children(s.PID()), s.PID())
		if t.Name() == "TestAPausedServerAnswersOnlyWhenItIsResumed/postgres" && len(family) < 2 {
			t.Fatal("PostgreSQL has no children: this test does not see what it is about")
		}
		if err := s.Pause(); err != nil {
			t.Fatal(err)
		}
		for _, pid := range family {
			if err := inState(pid, stopped+gone); err != nil {
				t.Error(err)
			}
		}
		conn, err := net.Dial("tcp", s.Addr)
		if err != nil {
			t.Fatalf("a paused server is still reached by its system: %v", err)
		}
		defer conn.Close()
		answer := make(chan error, 1)
		go func() { answer <- ask() }()
		if err := s.Resume(); err != nil {
			t.Fatal(err)
		}
		if err := <-answer; err != nil {
			t.Errorf("who asked during the pause: %v", err)
		}
	})
}

func TestAPausedServerCanBeEnded(t *testing.T) {
	engines(t, func(t *testing.T, s *Server, ask func() error) {
		for _, end := range []func(){s.Kill, s.Stop} {
			if err := s.Pause(); err != nil {
				t.Fatal(err)
			}
			end()
			if s.Running() {
				t.Fatal("it runs after its end")
			}
			if err := s.Pause(); err == nil {
				t.Error("a server that has ended was paused")
			}
			if err := s.Start(); err != nil {
				t.Fatal(err)
			}
			if err := ask(); err != nil {
				t.Error(err)
			}
		}
	})
}

// Nothing of a killed server lives on: neither a child that could still write,
// nor the port.
func TestAKilledServerIsGoneWithItsChildren(t *testing.T) {
	engines(t, func(t *testing.T, s *Server, ask func() error) {
		family := append(children(s.PID()), s.PID())
		s.Kill()
		for _, pid := range family {
			if err := inState(pid, gone); err != nil {
				t.Error(err)
			}
		}
		if conn, err := net.Dial("tcp", s.Addr); err == nil {
			conn.Close()
			t.Error("somebody still answers at its address")
		}
		if err := ask(); err == nil {
			t.Error("a killed server answers")
		}
		s.Restart(t)
		if err := ask(); err != nil {
			t.Error(err)
		}
	})
}

func TestAServerIsAskedAgainToEnd(t *testing.T) {
	sh, err := find("sh", "dash")
	if err != nil {
		t.Fatal(err)
	}
	const deafOnce = `trap "trap - TERM" TERM; echo ready; while :; do :; done`
	p, err := program{path: sh, args: []string{"-c", deafOnce}, dir: t.TempDir(), farewell: syscall.SIGTERM}.start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	err = p.ready(politeness, func(int) error {
		if p.output.String() != "ready\n" {
			return errors.New("it may not hear yet")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	p.stop()
	if end := p.cmd.ProcessState.Sys().(syscall.WaitStatus); end.Signal() != syscall.SIGTERM {
		t.Errorf("it ended by %s, want the second farewell", end.Signal())
	}
}
