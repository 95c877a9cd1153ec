package testenv

import (
	"bufio"
	"net"
	"strings"
	"testing"
)

func ask(t *testing.T, addr, question string) string {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Write([]byte(question + "\r\n")); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(line)
}

func TestEachRedisIsPrivate(t *testing.T) {
	a, b := Redis(t), Redis(t)
	if got := ask(t, a, "SET unit 1"); got != "+OK" {
		t.Fatalf("SET: %q", got)
	}
	if got := ask(t, b, "GET unit"); got != "$-1" {
		t.Errorf("the other server knows the key too: %q", got)
	}
}

func TestAStoppedRedisIsGone(t *testing.T) {
	s, err := StartRedis(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
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
