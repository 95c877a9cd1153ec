package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rushgate/app"
)

func adminToken(t *testing.T, data string) string {
	t.Helper()
	token, err := app.ReadAdminToken(data)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// holdRequest sends the head of a request and keeps its body back, until the
// server is known to wait for it.
func holdRequest(t *testing.T, url string) net.Conn {
	t.Helper()
	host := strings.TrimPrefix(url, "http://")
	conn, err := net.Dial("tcp", host)
	if err != nil {
		t.Fatal(err)
	}
	// 100-continue comes when the handler reads the body: it is inside.
	fmt.Fprintf(conn, "POST /v1/sales/x/claims HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: 20\r\nExpect: 100-continue\r\n\r\n", host)
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil || !strings.Contains(line, "100") {
		t.Fatalf("%q, %v", line, err)
	}
	return conn
}

// The admin token is made once, for its owner only, and never told to a log.
func TestAdminTokenIsMadeOnce(t *testing.T) {
	data := filepath.Join(t.TempDir(), "new", "data")
	s := serve(t, data)
	token := adminToken(t, data)
	info, err := os.Stat(filepath.Join(data, "admin-token"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if !strings.Contains(s.Log(), filepath.Join(data, "admin-token")) {
		t.Errorf("the log does not say where the token is: %s", s.Log())
	}
	s.Kill()
	again := serve(t, data)
	if adminToken(t, data) != token {
		t.Error("a restart changed the token")
	}
	for _, log := range []string{s.Log(), again.Log()} {
		if strings.Contains(log, token) {
			t.Error("the token is in the log")
		}
	}
}

func TestHealthAndReadiness(t *testing.T) {
	s := serve(t, t.TempDir())
	for _, path := range []string{"/healthz", "/readyz", "/metrics", "/openapi.json", "/docs", "/"} {
		resp, err := http.Get(s.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			t.Error(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			t.Errorf("%s: %s", path, resp.Status)
		}
	}
	http.DefaultClient.CloseIdleConnections()
}

// Every command teaches by example.
func TestHelp(t *testing.T) {
	if out := succeeds(t); !strings.Contains(out, "rushgate demo") {
		t.Errorf("no arguments: %s", out)
	}
	for _, c := range []string{"demo", "serve", "sale create", "sale list", "sale show", "sale restock", "sale freeze", "sale resume", "sale close", "audit", "check", "version"} {
		out := succeeds(t, append(strings.Fields(c), "--help")...)
		if !strings.Contains(out, "rushgate "+c) || strings.Count(out, "rushgate "+c) < 2 {
			t.Errorf("%s --help has no example: %s", c, out)
		}
	}
	if out := succeeds(t, "version"); !strings.HasPrefix(out, "rushgate ") {
		t.Errorf("version: %s", out)
	} else if asked := succeeds(t, "--version"); asked != out {
		t.Errorf("--version says %q, version %q", asked, out)
	}
}

func TestCheck(t *testing.T) {
	data := t.TempDir()
	for range 2 { // without a ledger, and with one
		out := succeeds(t, "check", "--listen", "127.0.0.1:0", "--data", data)
		for _, name := range []string{"configuration", "address", "identity", "folder", "fsync", "database", "admin token", "clock", "open files"} {
			if !strings.Contains(out, name) {
				t.Errorf("check says nothing about %q: %s", name, out)
			}
		}
		serve(t, data).Kill()
	}
	s := serve(t, data)
	address := strings.TrimPrefix(s.URL, "http://")
	r := command(t, "check", "--listen", address, "--data", data)
	if r.Status != 1 || !strings.Contains(r.Out, address+" is in use") {
		t.Errorf("check of an address in use: %d %s", r.Status, r.Out)
	}
	missing := filepath.Join(t.TempDir(), "a", "b")
	succeeds(t, "check", "--listen", "127.0.0.1:0", "--data", missing)
	if _, err := os.Stat(filepath.Dir(missing)); err == nil {
		t.Error("check made the folder")
	}
}

// The flags of serve and app.Defaults must not drift apart.
func TestFlagsDefaultToDefaults(t *testing.T) {
	var c commands
	parser, err := newParser(t.Context(), &c, world{in: strings.NewReader(""), out: io.Discard, err: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parser.Parse([]string{"serve"}); err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprintf("%+v", c.Serve.Server), fmt.Sprintf("%+v", app.Defaults()); got != want {
		t.Errorf("the flags say\n%s\nand app.Defaults\n%s", got, want)
	}
}
