package testenv

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

var (
	postgres = SharedPostgres()
	mariadb  = SharedMariaDB()
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(postgres.Around(mariadb.Around(m))) }

// asked sends a command to a Redis and returns its answer.
func asked(t *testing.T, s *RedisServer, words ...string) string {
	t.Helper()
	answer, err := s.ask(words...)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

func TestEachRedisIsPrivate(t *testing.T) {
	a, b := Redis(t), Redis(t)
	if got := asked(t, a, "SET", "unit", "1"); got != "OK" {
		t.Fatalf("SET: %q", got)
	}
	if got := asked(t, b, "EXISTS", "unit"); got != "0" {
		t.Errorf("the other server knows the key too: %q", got)
	}
}

func TestAStoppedRedisIsGone(t *testing.T) {
	s := Redis(t)
	s.Stop()
	s.Stop()
	if conn, err := net.Dial("tcp", s.Addr); err == nil {
		conn.Close()
		t.Error("somebody still answers at its address")
	}
}

func TestAMissingServerSaysWhatToInstall(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := StartRedis(t.TempDir())
	if err == nil || !strings.Contains(err.Error(), "redis-server is not installed") {
		t.Errorf("error %v, want one that names the package", err)
	}
}

func TestAProgramIsFoundWhereNoPathLeads(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	folders := t.TempDir()
	for _, version := range []string{"1", "2", "3"} {
		path := filepath.Join(folders, version, "bin", "served")
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		mode := os.FileMode(0o700)
		if version == "3" {
			mode = 0o600 // no program
		}
		if err := os.WriteFile(path, nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	got, err := find("served", "server", filepath.Join(folders, "none", "bin"), filepath.Join(folders, "*", "bin"))
	if want := filepath.Join(folders, "2", "bin", "served"); err != nil || got != want {
		t.Errorf("found %q, %v; want %q", got, err, want)
	}
}

func TestARedisKeepsWhatItIsToldTo(t *testing.T) {
	for name, c := range map[string]struct {
		settings []string
		kept     string
	}{
		"nothing by itself":            {nil, "0"},
		"all with an append-only file": {[]string{"appendonly yes", "appendfsync always", "requirepass secret"}, "1"},
	} {
		t.Run(name, func(t *testing.T) {
			s := Redis(t, c.settings...)
			asked(t, s, "SET", "unit", "1")
			s.Kill()
			if err := s.Start(); err != nil {
				t.Fatal(err)
			}
			if got := asked(t, s, "EXISTS", "unit"); got != c.kept {
				t.Errorf("%s keys after a kill, want %s", got, c.kept)
			}
		})
	}
}

func TestARedisTakesItsSettings(t *testing.T) {
	s := Redis(t, "requirepass first", "requirepass secret", "maxmemory 1gb", "maxmemory-policy noeviction")
	if got := asked(t, s, "CONFIG", "GET", "maxmemory*"); !strings.Contains(got, "1073741824") || !strings.Contains(got, "noeviction") {
		t.Errorf("memory: %q", got)
	}
	if want := "redis://:secret@" + s.Addr; s.URL() != want {
		t.Errorf("URL %q, want %q", s.URL(), want)
	}
	if _, err := ask(s.Addr, "first", "PING"); err == nil || !strings.Contains(err.Error(), "WRONGPASS") {
		t.Errorf("a wrong password: %v", err)
	}
	_, err := StartRedis(t.TempDir(), "no-such-setting 1")
	if err == nil || !strings.Contains(err.Error(), "no-such-setting") {
		t.Errorf("a wrong setting: %v, want what the server says", err)
	}
}
