package testenv

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"strconv"
	"testing"
	"time"
)

// RedisServer is a private Redis, without persistence.
type RedisServer struct {
	Addr    string // host:port
	process *process
}

// Redis starts a private Redis that ends with the test, and returns its
// address.
func Redis(t testing.TB) string {
	t.Helper()
	s, err := StartRedis(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return s.Addr
}

// StartRedis starts a Redis that keeps what it must in dir. The caller stops it.
func StartRedis(dir string) (*RedisServer, error) {
	if err := writable(dir); err != nil {
		return nil, err
	}
	// Another program may take the port between the moment at which it was
	// found free and the one at which Redis asks for it.
	var failures error
	for range 3 {
		s, err := startRedis(dir)
		if err == nil {
			return s, nil
		}
		failures = errors.Join(failures, err)
	}
	return nil, failures
}

func startRedis(dir string) (*RedisServer, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	p, err := start("redis-server", dir, "redis-server", "--port", strconv.Itoa(port), "--bind", "127.0.0.1",
		"--dir", dir, "--save", "", "--appendonly", "no", "--daemonize", "no")
	if err != nil {
		return nil, err
	}
	s := &RedisServer{Addr: net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), process: p}
	if err := p.ready(10*time.Second, s.ping); err != nil {
		p.stop()
		return nil, err
	}
	return s, nil
}

// Stop ends the server and waits until it has ended.
func (s *RedisServer) Stop() { s.process.stop() }

// PID returns the server's process id, for accounting.
func (s *RedisServer) PID() int { return s.process.cmd.Process.Pid }

// ping asks the server itself, in its own protocol: that something listens
// does not mean that it is Redis, or that it is ours.
func (s *RedisServer) ping() error {
	conn, err := net.DialTimeout("tcp", s.Addr, time.Second)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(time.Second)); err != nil {
		return err
	}
	if _, err := conn.Write([]byte("INFO server\r\n")); err != nil {
		return err
	}
	mine := "process_id:" + strconv.Itoa(s.PID())
	for lines := bufio.NewScanner(conn); lines.Scan(); {
		if lines.Text() == mine {
			return nil
		}
	}
	return fmt.Errorf("another server answers at %s", s.Addr)
}
