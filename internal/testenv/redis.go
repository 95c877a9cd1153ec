package testenv

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// RedisServer is a private Redis.
type RedisServer struct {
	Server
	Password string // of the default user; empty if none is asked for

	port int
}

const redisPackage = "redis-server"

// Redis starts a private Redis that ends with the test. It forgets everything
// with its process, unless settings say otherwise: they are lines of redis.conf,
// like "appendonly yes", "appendfsync always", "requirepass secret",
// "maxmemory 10mb" or "maxmemory-policy noeviction".
func Redis(t testing.TB, settings ...string) *RedisServer {
	t.Helper()
	s, err := StartRedis(t.TempDir(), settings...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return s
}

// StartRedis starts a Redis that keeps what it must in dir. The caller stops it.
func StartRedis(dir string, settings ...string) (*RedisServer, error) {
	path, err := find("redis-server", redisPackage)
	if err != nil {
		return nil, err
	}
	if err := writable(dir); err != nil {
		return nil, err
	}
	s := &RedisServer{Password: password(settings)}
	s.within, s.answers = starting, s.serves
	err = onFreePort(func(port int) error {
		s.Addr, s.port = loopback(port), port
		file := filepath.Join(dir, "redis.conf")
		if err := s.writeConfig(file, dir, settings); err != nil {
			return err
		}
		s.program = program{path: path, dir: dir, farewell: syscall.SIGTERM, args: []string{file}}
		return s.Start()
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// RedisReplica starts a Redis that copies another one, with the same password,
// and ends with the test. It returns when the copy is complete.
func RedisReplica(t testing.TB, master *RedisServer, settings ...string) *RedisServer {
	t.Helper()
	s, err := StartRedisReplica(t.TempDir(), master, settings...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return s
}

// StartRedisReplica starts a Redis in dir that copies another one, with the same
// password, and returns when the copy is complete and hears of every write at
// once. The caller stops it.
func StartRedisReplica(dir string, master *RedisServer, settings ...string) (*RedisServer, error) {
	copies := []string{"replicaof 127.0.0.1 " + strconv.Itoa(master.port)}
	if master.Password != "" {
		copies = append(copies, "requirepass "+master.Password)
	}
	s, err := StartRedis(dir, append(copies, settings...)...)
	if err != nil {
		return nil, err
	}
	copied := func() error { return errors.Join(s.copied(), heard(master)) }
	if err := until(agreement, nil, copied); err != nil {
		s.Stop()
		return nil, err
	}
	return s, nil
}

// heard is an error as long as a replica has not heard of something new: a master
// that has sent a copy keeps back what it writes until it is told of its arrival.
func heard(master *RedisServer) error {
	n, err := converse(master.Addr, master.Password, []string{"PUBLISH", "rushgate-replica", "?"}, []string{"WAIT", "1", "1000"})
	if err == nil && n == "0" {
		err = fmt.Errorf("no replica of the master at %s hears of what is new", master.Addr)
	}
	return err
}

// copied is an error as long as a replica has not copied its master.
func (s *RedisServer) copied() error {
	info, err := s.info()
	if err == nil && info["master_link_status"] != "up" {
		err = fmt.Errorf("the replica at %s is not in sync with its master: link %q", s.Addr, info["master_link_status"])
	}
	return err
}

// Promote makes a replica a master. What its old master had not yet sent is
// lost to it.
func (s *RedisServer) Promote() error {
	_, err := s.ask("REPLICAOF", "NO", "ONE")
	return err
}

// password finds the password among the settings. The last word counts.
func password(settings []string) (found string) {
	for _, setting := range settings {
		if name, value, _ := strings.Cut(setting, " "); name == "requirepass" {
			found = value
		}
	}
	return found
}

// writeConfig writes redis.conf: it may be changed by CONFIG REWRITE, and is so
// by Sentinel.
func (s *RedisServer) writeConfig(file, dir string, settings []string) error {
	lines := []string{"port " + strconv.Itoa(s.port), "bind 127.0.0.1", `dir "` + dir + `"`, "daemonize no",
		`save ""`, "appendonly no", "repl-diskless-sync-delay 0"}
	if s.Password != "" {
		lines = append(lines, "masterauth "+s.Password) // who is a master today may be a replica tomorrow
	}
	text := strings.Join(append(lines, settings...), "\n") + "\n" // the last word on a setting counts
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return fmt.Errorf("configuration of the server: %w", err)
	}
	return nil
}

// URL returns the server's address as clients take it.
func (s *RedisServer) URL() string {
	if s.Password == "" {
		return "redis://" + s.Addr
	}
	return "redis://:" + s.Password + "@" + s.Addr
}

// serves asks the server itself, in its own protocol: that something listens
// does not mean that it is Redis, or that it is ours. It serves when it has
// loaded what it kept.
func (s *RedisServer) serves(pid int) error {
	info, err := s.info()
	if err != nil {
		return err
	}
	if info["process_id"] != strconv.Itoa(pid) {
		return s.notOurs()
	}
	if info["loading"] != "0" {
		return fmt.Errorf("the server at %s is loading", s.Addr)
	}
	return nil
}

// info returns what the server says about itself.
func (s *RedisServer) info() (map[string]string, error) {
	text, err := s.ask("INFO")
	if err != nil {
		return nil, err
	}
	return facts(text), nil
}

// facts reads lines of "name:value".
func facts(text string) map[string]string {
	found := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			found[name] = value
		}
	}
	return found
}

// ask sends one command on a connection of its own.
func (s *RedisServer) ask(words ...string) (string, error) {
	return ask(s.Addr, s.Password, words...)
}
