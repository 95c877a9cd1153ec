package main

import (
	"net/url"
	"strings"
	"testing"

	"rushgate/internal/binary"
)

// nobody is an address at which nobody answers, and that nobody is given who asks
// for any port: as one might be that was free a moment ago.
const nobody = "127.0.0.1:1"

// change changes one part of a URL.
func change(t *testing.T, raw string, edit func(*url.URL)) string {
	t.Helper()
	u, err := url.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	edit(u)
	return u.String()
}

// refused starts a node that must not start, and check must say the same.
func refused(t *testing.T, flags []string, words ...string) {
	t.Helper()
	flags = append([]string{"--listen", "127.0.0.1:0", "--data", t.TempDir(), "--admin-token", clusterToken}, flags...)
	r := command(t, append([]string{"serve"}, flags...)...)
	fails(t, r, words...)
	checked := command(t, append([]string{"check"}, flags...)...)
	if checked.Status != 1 || !strings.Contains(checked.Out, "FAILED") {
		t.Errorf("check ends with %d: %s%s", checked.Status, checked.Out, checked.Err)
	}
	for _, secret := range []string{"a-wrong-secret", "sesame"} {
		if strings.Contains(r.Err+checked.Out+checked.Err, secret) {
			t.Errorf("the password is told: %s%s%s", r.Err, checked.Out, checked.Err)
		}
	}
}

// sqlServer is what the tests need of a database server.
type sqlServer struct {
	url func(t *testing.T) string              // of a new database
	sql func(database, statement string) error // as its superuser
	tls string                                 // what asks for TLS in a URL

	grants func(database, right string) []string // a user "weak" with the password sesame
}

func sqlServers(t *testing.T) map[string]sqlServer {
	t.Helper()
	p, m := postgres.Server(t), mariadb.Server(t)
	return map[string]sqlServer{
		"postgres": {url: func(t *testing.T) string { return p.NewDatabase(t) }, tls: "sslmode=require",
			sql: func(db, s string) error { _, err := p.SQL(db, s); return err },
			grants: func(db, right string) []string {
				return []string{`DO $$ BEGIN CREATE ROLE weak LOGIN PASSWORD 'sesame'; EXCEPTION WHEN duplicate_object THEN NULL; END $$`,
					`REVOKE ALL ON SCHEMA public FROM PUBLIC`, `GRANT USAGE ON SCHEMA public TO weak`,
					`GRANT ` + right + ` ON ALL TABLES IN SCHEMA public TO weak`}
			}},
		"mariadb": {url: func(t *testing.T) string { return m.NewDatabase(t) }, tls: "tls=true",
			sql: func(db, s string) error { _, err := m.SQL(db, s); return err },
			grants: func(db, right string) []string {
				return []string{`CREATE USER IF NOT EXISTS weak@'%' IDENTIFIED BY 'sesame'`, `GRANT ` + right + ` ON ` + db + `.* TO weak@'%'`}
			}},
	}
}

func databaseOf(ledger string) string {
	u, err := url.Parse(ledger)
	if err != nil {
		return ""
	}
	return strings.TrimPrefix(u.Path, "/")
}

// Whatever is wrong with a ledger on a server is one line that names the setting
// and the mend.
func TestServeRefusesALedger(t *testing.T) {
	t.Parallel()
	for name, s := range sqlServers(t) {
		t.Run(name, func(t *testing.T) {
			ledger := s.url(t)
			refused(t, []string{"--ledger", change(t, ledger, func(u *url.URL) { u.Host = nobody })}, "--ledger", nobody, "start")
			refused(t, []string{"--ledger", change(t, ledger, func(u *url.URL) { u.User = url.UserPassword(u.User.Username(), "a-wrong-secret") })}, "--ledger", "password")
			refused(t, []string{"--ledger", change(t, ledger, func(u *url.URL) { u.Path = "/nowhere" })}, "--ledger", "nowhere", "CREATE DATABASE")
			refused(t, []string{"--ledger", change(t, ledger, func(u *url.URL) { u.RawQuery = s.tls })}, "--ledger", "TLS")

			one, err := binary.Serve(program, "--data", t.TempDir(), "--ledger", ledger, "--admin-token", clusterToken)
			if err != nil {
				t.Fatal(err)
			}
			one.Kill() // and the tables are there
			database := databaseOf(ledger)
			weak := change(t, ledger, func(u *url.URL) { u.User = url.UserPassword("weak", "sesame") })
			for _, statement := range s.grants(database, "SELECT") {
				if err := s.sql(database, statement); err != nil {
					t.Fatal(err)
				}
			}
			refused(t, []string{"--ledger", weak}, "--ledger", "weak", "SELECT")
			if err := s.sql(database, `INSERT INTO goose_db_version (version_id, is_applied) VALUES (99999, true)`); err != nil {
				t.Fatal(err)
			}
			refused(t, []string{"--ledger", ledger}, "newer")
			fails(t, command(t, "audit", "s", "--ledger", ledger), "newer")
		})
	}
}
