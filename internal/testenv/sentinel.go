package testenv

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// SentinelGroup is a private Redis master with replicas, and three sentinels
// that make one of the replicas the master when two of them miss the master.
type SentinelGroup struct {
	group
	Name      string         // of the master, as the sentinels know it
	Servers   []*RedisServer // the first one was master at the start
	Sentinels []*RedisServer // without a password
}

const sentinels, quorum = 3, 2

// RedisSentinel starts a master with replicas, and sentinels, which all end with
// the test. Settings are for the master and the replicas.
func RedisSentinel(t testing.TB, replicas int, settings ...string) *SentinelGroup {
	t.Helper()
	g, err := StartRedisSentinel(t.TempDir(), replicas, settings...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Stop)
	return g
}

// StartRedisSentinel starts a master with replicas, and sentinels, and returns
// when the sentinels know each other and all the replicas. The caller stops it.
func StartRedisSentinel(dir string, replicas int, settings ...string) (*SentinelGroup, error) {
	g := &SentinelGroup{group: group{dir: dir}, Name: "rushgate"}
	if err := g.begin(replicas, settings); err != nil {
		g.Stop()
		return nil, err
	}
	return g, nil
}

func (g *SentinelGroup) begin(replicas int, settings []string) error {
	master, err := g.add(func(dir string) (*RedisServer, error) { return StartRedis(dir, settings...) })
	if err != nil {
		return err
	}
	for range replicas {
		_, err := g.add(func(dir string) (*RedisServer, error) { return StartRedisReplica(dir, master, settings...) })
		if err != nil {
			return err
		}
	}
	g.Servers = g.servers[:len(g.servers):len(g.servers)]
	for range sentinels {
		s, err := g.add(func(dir string) (*RedisServer, error) { return startSentinel(dir, g.Name, master) })
		if err != nil {
			return err
		}
		g.Sentinels = append(g.Sentinels, s)
	}
	return until(agreement, nil, g.Complete)
}

// Complete is an error unless every sentinel sees the others and all replicas
// well: only then would the group survive the loss of its master, and not if it
// has only just replaced one.
func (g *SentinelGroup) Complete() error {
	for _, s := range g.Sentinels {
		if err := g.informed(s); err != nil {
			return err
		}
	}
	return nil
}

func startSentinel(dir, name string, master *RedisServer) (*RedisServer, error) {
	path, err := find("redis-server", redisPackage)
	if err != nil {
		return nil, err
	}
	s := &RedisServer{}
	s.within, s.answers = starting, s.watches
	err = onFreePort(func(port int) error {
		s.Addr, s.port = loopback(port), port
		file := filepath.Join(dir, "sentinel.conf") // which it writes to
		if err := os.WriteFile(file, []byte(sentinelConfig(dir, port, name, master)), 0o600); err != nil {
			return fmt.Errorf("configuration of the sentinel: %w", err)
		}
		s.program = program{path: path, dir: dir, farewell: syscall.SIGTERM, args: []string{file, "--sentinel"}}
		return s.Start()
	})
	if err != nil {
		return nil, err
	}
	// Sentinels introduce themselves every two seconds and look at replicas every
	// ten. One that cannot be told otherwise (before Redis 7) only takes longer.
	_, _ = s.ask("SENTINEL", "DEBUG", "PUBLISH-PERIOD", "100", "INFO-PERIOD", "1000")
	return s, nil
}

func sentinelConfig(dir string, port int, name string, master *RedisServer) string {
	lines := []string{"port " + strconv.Itoa(port), "bind 127.0.0.1", `dir "` + dir + `"`, "daemonize no",
		fmt.Sprintf("sentinel monitor %s 127.0.0.1 %d %d", name, master.port, quorum),
		"sentinel down-after-milliseconds " + name + " 1000",
		"sentinel failover-timeout " + name + " 4000"}
	if master.Password != "" {
		lines = append(lines, "sentinel auth-pass "+name+" "+master.Password)
	}
	return strings.Join(lines, "\n") + "\n"
}

// watches is what serves is for a server with data.
func (s *RedisServer) watches(pid int) error {
	info, err := s.info()
	if err == nil && (info["process_id"] != strconv.Itoa(pid) || info["redis_mode"] != "sentinel") {
		err = s.notOurs()
	}
	return err
}

// informed is an error as long as a sentinel does not see everybody else well.
func (g *SentinelGroup) informed(s *RedisServer) error {
	others, err := s.ask("SENTINEL", "SENTINELS", g.Name)
	if err != nil {
		return err
	}
	replicas, err := s.ask("SENTINEL", "REPLICAS", g.Name)
	if err != nil {
		return err
	}
	sees := [2]int{count(others, "flags", "sentinel"), min(count(replicas, "flags", "slave"), count(replicas, "master-link-status", "ok"))}
	if want := [2]int{len(g.Sentinels) - 1, len(g.Servers) - 1}; sees != want {
		return fmt.Errorf("the sentinel at %s sees %d other sentinels and %d replicas that are well, want %d and %d",
			s.Addr, sees[0], sees[1], want[0], want[1])
	}
	return nil
}

// count counts a name with a value in a list of names and values on alternating
// lines.
func count(list, name, value string) (n int) {
	lines := strings.Split(list, "\n")
	for i := 0; i+1 < len(lines); i += 2 {
		if lines[i] == name && lines[i+1] == value {
			n++
		}
	}
	return n
}

// Addrs returns the addresses of the sentinels, which is what clients are given.
func (g *SentinelGroup) Addrs() []string {
	var addrs []string
	for _, s := range g.Sentinels {
		addrs = append(addrs, s.Addr)
	}
	return addrs
}

// Master returns the server that all sentinels take for the master, as soon as
// they agree and it agrees too.
func (g *SentinelGroup) Master() (*RedisServer, error) { return g.MasterAfter(nil) }

// MasterAfter returns the master that came after another one, as soon as all
// sentinels agree on it and it agrees too.
func (g *SentinelGroup) MasterAfter(old *RedisServer) (master *RedisServer, err error) {
	err = until(agreement, nil, func() error {
		addr, err := agreed(g.Sentinels, g.masterOf)
		if err != nil {
			return err
		}
		if master, err = g.at(addr); err != nil {
			return err
		}
		if master == old {
			return fmt.Errorf("%s is still the master", addr)
		}
		info, err := master.info()
		if err == nil && info["role"] != "master" {
			err = fmt.Errorf("%s is to be master, and is %s", addr, info["role"])
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return master, nil
}

func (g *SentinelGroup) masterOf(s *RedisServer) (string, error) {
	answer, err := s.ask("SENTINEL", "GET-MASTER-ADDR-BY-NAME", g.Name)
	if err != nil {
		return "", err
	}
	host, port, _ := strings.Cut(answer, "\n")
	return net.JoinHostPort(host, port), nil
}
