package main

import (
	"bytes"
	"database/sql"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	_ "modernc.org/sqlite" // to damage a database

	"rushgate/internal/binary"
)

// Whatever is wrong with a configuration is one line, and says how to mend it.
func TestServeRefusesWithOneLine(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	empty := filepath.Join(t.TempDir(), "empty.json")
	if err := os.WriteFile(empty, []byte(`{"keys":[]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		args  []string
		words []string
	}{
		"unknown flag":         {[]string{"--colour", "red"}, []string{"--colour", "rushgate serve --help"}},
		"wrong address":        {[]string{"--listen", "8080"}, []string{`--listen "8080"`, "HOST:PORT"}},
		"no such host":         {[]string{"--listen", "192.0.2.1:0", "--identity", "backend", "--backend-key", "the-key-of-the-shop"}, []string{"not an address of this machine"}},
		"unknown ledger":       {[]string{"--ledger", "oracle://u:secret@db/x"}, []string{"--ledger", "oracle://db/x", "postgres://", "mysql://"}},
		"a folder as ledger":   {[]string{"--ledger", "sqlite:///var/lib/x"}, []string{"--ledger", "--data"}},
		"postgres, no port":    {[]string{"--ledger", "postgres://u:secret@db:x/y"}, []string{"--ledger", "postgres://user:password@host:port/database"}},
		"mysql, no user":       {[]string{"--ledger", "mysql://db/x"}, []string{"--ledger", "mysql://user:password@host:port/database"}},
		"mysql, unescaped":     {[]string{"--ledger", "mysql://u:%secret@db/x"}, []string{"--ledger", "escape"}},
		"mysql, unknown":       {[]string{"--ledger", "mysql://u:secret@db/x?ssl=1"}, []string{"--ledger", `"ssl"`, "tls"}},
		"unknown gate":         {[]string{"--gate", "memcached://:secret@cache"}, []string{"--gate", "memcached://cache", "redis://"}},
		"a gate with address":  {[]string{"--gate", "memory://x"}, []string{"--gate memory"}},
		"redis, no host":       {[]string{"--gate", "redis://:secret@"}, []string{"--gate", "redis://host:port"}},
		"redis, unknown":       {[]string{"--gate", "redis://:secret@cache?colour=red"}, []string{"--gate", `"colour"`}},
		"tiny lease":           {[]string{"--lease", "1ms"}, []string{"--lease 1ms", "500ms"}},
		"adopt at once":        {[]string{"--adopt-after", "0s"}, []string{"--adopt-after 0s"}},
		"endless drain":        {[]string{"--drain", "1h"}, []string{"--drain 1h", "10m"}},
		"a name with space":    {[]string{"--node", "my node"}, []string{"--node"}},
		"dev for everybody":    {[]string{"--listen", "0.0.0.0:0", "--identity", "dev"}, []string{"dev believes everybody", "127.0.0.1"}},
		"nobody for everybody": {[]string{"--listen", ":0"}, []string{"--identity", "backend or jwt"}},
		"backend without key":  {[]string{"--identity", "backend"}, []string{"--backend-key"}},
		"jwt without secret":   {[]string{"--identity", "jwt"}, []string{"--jwt-jwks"}},
		"short secret":         {[]string{"--identity", "jwt", "--jwt-secret", "short"}, []string{"32"}},
		"secret file missing":  {[]string{"--identity", "jwt", "--jwt-secret-file", file + "-not"}, []string{"--jwt-secret-file", "no such file"}},
		"key set missing":      {[]string{"--identity", "jwt", "--jwt-jwks", file + "-not"}, []string{"--jwt-jwks", "no such file"}},
		"key set no JSON":      {[]string{"--identity", "jwt", "--jwt-jwks", file}, []string{"--jwt-jwks", "read the key set"}},
		"key set without keys": {[]string{"--identity", "jwt", "--jwt-jwks", empty}, []string{"--jwt-jwks", "no public key"}},
		"key set unreachable":  {[]string{"--identity", "jwt", "--jwt-jwks", "http://" + nobody}, []string{"--jwt-jwks", "http://" + nobody, "refused"}},
		"unknown identity":     {[]string{"--identity", "oauth"}, []string{`"oauth"`, "dev, backend or jwt"}},
		"short backend key":    {[]string{"--identity", "backend", "--backend-key", "the-key-of-the-shop,short"}, []string{"--backend-key", "16"}},
		"key for dev":          {[]string{"--backend-key", "k"}, []string{"--identity backend"}},
		"short admin token":    {[]string{"--admin-token", "1234"}, []string{"--admin-token", "16"}},
		"log level":            {[]string{"--log-level", "loud"}, []string{"--log-level", "debug"}},
		"shutdown timeout":     {[]string{"--shutdown-timeout", "0s"}, []string{"--shutdown-timeout"}},
		"tiny queue":           {[]string{"--queue", "1"}, []string{"--queue 1"}},
		"config missing":       {[]string{"--config", file + "-not"}, []string{"--config", "no such file"}},
		"config no JSON":       {[]string{"--config", file}, []string{"--config", "JSON object"}},
		"a file as folder":     {[]string{"--data", file}, []string{"not a folder"}},
		"below a file":         {[]string{"--data", file + "/data"}, []string{"not a folder"}},
	} {
		t.Run(name, func(t *testing.T) {
			args := append([]string{"serve", "--listen", "127.0.0.1:0", "--data", data}, c.args...)
			r := command(t, args...)
			fails(t, r, c.words...)
			if strings.Contains(r.Err, "secret@") || strings.Contains(r.Err, ":secret") || strings.Contains(r.Err, "1234 ") {
				t.Errorf("a secret in %q", r.Err)
			}
		})
	}
	if _, err := os.Stat(data); err == nil {
		t.Error("a refused configuration left a data folder")
	}
}

func TestPortInUse(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	fails(t, command(t, "serve", "--listen", l.Addr().String(), "--data", t.TempDir()), l.Addr().String(), "in use", "--listen")
}

func TestTwoServersOnOneFolder(t *testing.T) {
	data := t.TempDir()
	first := serve(t, data)
	fails(t, command(t, "serve", "--listen", "127.0.0.1:0", "--data", data), data, "stop that server")
	succeeds(t, "sale", "list", "--server", first.URL) // the first one does not mind
}

func TestNewerDatabase(t *testing.T) {
	data := t.TempDir()
	serve(t, data).Kill()
	edit(t, data, `INSERT INTO goose_db_version (version_id, is_applied) VALUES (99999, 1)`)
	fails(t, command(t, "serve", "--listen", "127.0.0.1:0", "--data", data), "newer")
	fails(t, command(t, "audit", "s", "--data", data), "newer")
}

func TestDamagedDatabase(t *testing.T) {
	data := t.TempDir()
	if err := os.WriteFile(filepath.Join(data, "rushgate.db"), []byte(strings.Repeat("not a database ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	fails(t, command(t, "serve", "--listen", "127.0.0.1:0", "--data", data), "rushgate.db", "backup")
	fails(t, command(t, "audit", "s", "--data", data), "rushgate.db", "backup")
}

func TestBrokenTokenFile(t *testing.T) {
	data := t.TempDir()
	if err := os.WriteFile(filepath.Join(data, "admin-token"), []byte("short\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	fails(t, command(t, "serve", "--listen", "127.0.0.1:0", "--data", data), "admin-token", "remove the file")
}

// A key that no flag has is a typing error, and not a setting at its default.
func TestUnknownKeyInConfigFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.json")
	if err := os.WriteFile(file, []byte(`{"listen": "127.0.0.1:0", "shutdwn_timeout": "5s"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	fails(t, command(t, "serve", "--config", file), "shutdwn-timeout", "unknown key")
}

// A flag beats the environment, the environment beats the file.
func TestPrecedence(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "config.json")
	if err := os.WriteFile(file, []byte(`{"ledger": "from-file", "gate": "from-file", "data": "`+dir+`/data", "queue": 5000}`), 0o600); err != nil {
		t.Fatal(err)
	}
	env := []string{"RUSHGATE_CONFIG=" + file, "RUSHGATE_LEDGER=from-environment"}
	r, err := binary.RunWith(program, env, "", "serve")
	if err != nil {
		t.Fatal(err)
	}
	fails(t, r, "from-environment")
	if r, err = binary.RunWith(program, env, "", "serve", "--ledger", "sqlite"); err != nil {
		t.Fatal(err)
	}
	fails(t, r, "from-file") // the gate's
}

// edit changes a database as an operator with sqlite3 would, who waits while the
// server writes.
func edit(t *testing.T, data, statement string) {
	t.Helper()
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Path: filepath.Join(data, "rushgate.db"), RawQuery: "_pragma=busy_timeout(30000)"}).String())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(statement); err != nil {
		t.Fatal(err)
	}
}

// Whoever removes or spoils the ledger under a running server ends it: it says
// so in one line, and does not answer for ever that it is busy.
func TestALedgerLostWhileServing(t *testing.T) {
	for name, harm := range map[string]func(data string) error{
		"removed":  os.RemoveAll,
		"replaced": func(data string) error { return os.Rename(data, data+"-away") },
		"overwritten": func(data string) error {
			return os.WriteFile(filepath.Join(data, "rushgate.db"), bytes.Repeat([]byte{0xa5}, 1<<20), 0o600)
		},
	} {
		t.Run(name, func(t *testing.T) {
			data := filepath.Join(t.TempDir(), "data")
			s := serve(t, data)
			succeeds(t, "sale", "create", "--id", "phones", "--stock", "10", "--server", s.URL, "--data", data)
			if name == "overwritten" { // without its log, the database is what there is
				if err := os.Truncate(filepath.Join(data, "rushgate.db-wal"), 0); err != nil {
					t.Fatal(err)
				}
			}
			if err := harm(data); err != nil {
				t.Fatal(err)
			}
			if status := s.Wait(); status != 1 { // nobody has to ask: the sweeper finds out
				t.Errorf("status %d, want 1", status)
			}
			last := s.Log()[strings.LastIndex(strings.TrimSpace(s.Log()), "\n")+1:]
			if !strings.HasPrefix(last, "rushgate: ") || !strings.Contains(last, "the ledger's") {
				t.Errorf("the last line does not say why: %q", last)
			}
		})
	}
}
