package testenv

import (
	"crypto/rand"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// PostgresServer is a private PostgreSQL that acknowledges what is on the disk.
type PostgresServer struct {
	Server
	User, Password string // of a superuser

	psql program
	data string
}

const postgresPackage = "postgresql"

// PostgreSQL starts a private PostgreSQL that ends with the test. Settings are
// those of postgresql.conf, as "name=value".
func PostgreSQL(t testing.TB, settings ...string) *PostgresServer {
	t.Helper()
	s, err := StartPostgres(t.TempDir(), settings...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return s
}

// StartPostgres makes a data folder in dir and starts a PostgreSQL on it. The
// caller stops it. Root's server runs as the user postgres or nobody, and then
// dir must be one that others can pass through, or below the system's folder
// for temporary files.
func StartPostgres(dir string, settings ...string) (*PostgresServer, error) {
	initdb, err := find("initdb", postgresPackage, "/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin")
	if err != nil {
		return nil, err
	}
	// What was installed together works together; on the PATH are links to it.
	if initdb, err = filepath.EvalSymlinks(initdb); err != nil {
		return nil, err
	}
	bin := filepath.Dir(initdb)
	if err := writable(dir); err != nil {
		return nil, err
	}
	as, err := unprivileged("postgres", "nobody")
	if err != nil {
		return nil, err
	}
	s := &PostgresServer{User: "rushgate", Password: rand.Text(), data: filepath.Join(dir, "postgres")}
	if err := s.initialize(program{path: initdb, dir: s.data, as: as}); err != nil {
		return nil, err
	}
	s.psql = program{path: filepath.Join(bin, "psql"), dir: dir}
	s.within, s.answers = starting, s.serves
	err = onFreePort(func(port int) error {
		s.Addr = loopback(port)
		// SIGINT ends its sessions; SIGTERM would wait until they end by themselves.
		s.program = program{path: filepath.Join(bin, "postgres"), dir: s.data, as: as, farewell: syscall.SIGINT,
			args: postgresArgs(s.data, port, settings)}
		return s.Start()
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// initialize makes the data folder with the superuser in it.
func (s *PostgresServer) initialize(initdb program) error {
	if err := ownFolder(s.data, initdb.as); err != nil {
		return err
	}
	// The password goes in by a file that only the user of the server can read:
	// a pipe would do too, but initdb opens what it reads by name.
	password := s.data + ".password"
	if err := os.WriteFile(password, []byte(s.Password), 0o600); err != nil {
		return fmt.Errorf("password of the server: %w", err)
	}
	defer os.Remove(password)
	if as := initdb.as; as != nil {
		if err := os.Chown(password, int(as.Uid), int(as.Gid)); err != nil {
			return fmt.Errorf("password of the server: %w", err)
		}
	}
	initdb.args = []string{"--pgdata", s.data, "--username", s.User, "--pwfile", password, "--auth", "scram-sha-256",
		"--encoding", "UTF8", "--locale", "C", "--no-sync"}
	_, err := initdb.run()
	return err
}

func postgresArgs(data string, port int, settings []string) []string {
	args := []string{"-D", data}
	durable := []string{"listen_addresses=127.0.0.1", "port=" + strconv.Itoa(port), "unix_socket_directories=",
		"fsync=on", "synchronous_commit=on", "full_page_writes=on", "shared_buffers=32MB"}
	for _, setting := range append(durable, settings...) {
		args = append(args, "-c", setting) // the last word on a setting counts
	}
	return args
}

// serves reads in the server's own file whether it takes connections: the first
// line is its process, the last its state.
func (s *PostgresServer) serves(pid int) error {
	file, err := os.ReadFile(filepath.Join(s.data, "postmaster.pid"))
	if err != nil {
		return err
	}
	lines := strings.Fields(string(file))
	if len(lines) == 0 || lines[0] != strconv.Itoa(pid) || lines[len(lines)-1] != "ready" {
		return fmt.Errorf("process %d is not ready: %q", pid, lines)
	}
	return nil
}

// URL returns the address of a database, with the superuser's name and
// password. The database "postgres" is always there.
func (s *PostgresServer) URL(database string) string {
	return "postgres://" + s.User + ":" + s.Password + "@" + s.Addr + "/" + database + "?sslmode=disable"
}

// NewDatabase makes an empty database that is dropped at the end of the test,
// with whoever is still connected to it, and returns its URL.
func (s *PostgresServer) NewDatabase(t testing.TB) string {
	t.Helper()
	return isolated(t, s)
}

// CreateDatabase makes an empty database. The caller vouches for the name.
func (s *PostgresServer) CreateDatabase(name string) error {
	_, err := s.SQL("postgres", "CREATE DATABASE "+name)
	return err
}

// DropDatabase removes a database, with whoever is connected to it.
func (s *PostgresServer) DropDatabase(name string) error {
	_, err := s.SQL("postgres", "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)")
	return err
}

// SQL runs a statement as superuser, through PostgreSQL's own client, and
// returns the rows: a line each, with | between the columns.
func (s *PostgresServer) SQL(database, statement string) (string, error) {
	host, port, err := net.SplitHostPort(s.Addr)
	if err != nil {
		return "", err
	}
	psql := s.psql
	psql.env = append(os.Environ(), "PGPASSWORD="+s.Password, "PGCONNECT_TIMEOUT=60")
	psql.args = []string{"--no-psqlrc", "--quiet", "--no-align", "--tuples-only", "--set", "ON_ERROR_STOP=1", "--no-password",
		"--host", host, "--port", port, "--username", s.User, "--dbname", database, "--command", statement}
	out, err := psql.run()
	return strings.TrimSpace(out), err
}
