package testenv

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// MariaDBServer is a private MariaDB that acknowledges what is on the disk.
type MariaDBServer struct {
	Server
	User, Password string // of a user who may do everything

	client program
	dir    string
}

const mariadbPackage = "mariadb-server"

// MariaDB starts a private MariaDB that ends with the test. Settings are those
// of its option file, as "name=value".
func MariaDB(t testing.TB, settings ...string) *MariaDBServer {
	t.Helper()
	s, err := StartMariaDB(t.TempDir(), settings...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return s
}

// StartMariaDB makes a data folder in dir and starts a MariaDB on it. The caller
// stops it.
func StartMariaDB(dir string, settings ...string) (*MariaDBServer, error) {
	var paths [3]string
	var failures error
	for i, name := range []string{"mariadb-install-db", "mariadbd", "mariadb"} {
		var err error
		paths[i], err = find(name, mariadbPackage, "/usr/sbin", "/usr/local/sbin")
		failures = errors.Join(failures, err)
	}
	if err := errors.Join(failures, writable(dir)); err != nil {
		return nil, err
	}
	s := &MariaDBServer{User: "rushgate", Password: rand.Text(), dir: filepath.Join(dir, "mariadb")}
	if err := s.initialize(paths[0]); err != nil {
		return nil, err
	}
	s.client = program{path: paths[2], dir: dir}
	s.within, s.answers = starting, s.serves
	err := onFreePort(func(port int) error {
		s.Addr = loopback(port)
		if err := s.writeOptions(port, settings); err != nil {
			return err
		}
		s.program = program{path: paths[1], dir: s.dir, farewell: syscall.SIGTERM, args: s.args()}
		return s.Start()
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// initialize makes the data folder, and the statements that make the user: the
// server reads them at every start.
func (s *MariaDBServer) initialize(install string) error {
	if err := errors.Join(ownFolder(s.dir, nil), ownFolder(s.file("tmp"), nil)); err != nil {
		return err
	}
	user := s.User + "@'127.0.0.1'"
	statements := "CREATE USER IF NOT EXISTS " + user + " IDENTIFIED BY '" + s.Password + "';\n" +
		"GRANT ALL PRIVILEGES ON *.* TO " + user + " WITH GRANT OPTION;\n"
	if err := os.WriteFile(s.file("init.sql"), []byte(statements), 0o600); err != nil {
		return fmt.Errorf("user of the server: %w", err)
	}
	args := append([]string{"--no-defaults", "--datadir=" + s.file("data"), "--tmpdir=" + s.file("tmp"), "--skip-test-db",
		"--auth-root-authentication-method=normal"}, asRoot()...)
	_, err := program{path: install, args: args, dir: s.dir}.run()
	return err
}

// asRoot: MariaDB runs as root only if it is told to.
func asRoot() []string {
	if os.Geteuid() == 0 {
		return []string{"--user=root"}
	}
	return nil
}

func (s *MariaDBServer) args() []string {
	return append([]string{"--defaults-file=" + s.file("my.cnf")}, asRoot()...)
}

func (s *MariaDBServer) file(name string) string { return filepath.Join(s.dir, name) }

// writeOptions writes the option file. The folder of temporary tables is its
// own, as a server that starts removes those that it finds. The socket has no
// name, as names of sockets may not be as long as those of temporary folders.
func (s *MariaDBServer) writeOptions(port int, settings []string) error {
	lines := []string{"[mariadbd]", "datadir=" + s.file("data"), "tmpdir=" + s.file("tmp"),
		"pid-file=" + s.file("pid"), "init-file=" + s.file("init.sql"),
		"socket=", "bind-address=127.0.0.1", "port=" + strconv.Itoa(port), "skip-name-resolve",
		"innodb_flush_log_at_trx_commit=1", "sync_binlog=1", "innodb_buffer_pool_size=64M"}
	file := strings.Join(append(lines, settings...), "\n") + "\n" // the last word on a setting counts
	if err := os.WriteFile(s.file("my.cnf"), []byte(file), 0o600); err != nil {
		return fmt.Errorf("options of the server: %w", err)
	}
	return nil
}

// serves asks who has the port by the server's own file, and then whether it
// lets us in.
func (s *MariaDBServer) serves(pid int) error {
	file, err := os.ReadFile(s.file("pid"))
	if err != nil {
		return err
	}
	if strings.TrimSpace(string(file)) != strconv.Itoa(pid) {
		return fmt.Errorf("process %d is not ready", pid)
	}
	_, err = s.SQL("", "DO 1")
	return err
}

// URL returns the address of a database, with the user's name and password.
func (s *MariaDBServer) URL(database string) string {
	return "mysql://" + s.User + ":" + s.Password + "@" + s.Addr + "/" + database
}

// NewDatabase makes an empty database that is dropped at the end of the test,
// and returns its URL.
func (s *MariaDBServer) NewDatabase(t testing.TB) string {
	t.Helper()
	return isolated(t, s)
}

// CreateDatabase makes an empty database. The caller vouches for the name.
func (s *MariaDBServer) CreateDatabase(name string) error {
	_, err := s.SQL("", "CREATE DATABASE "+name)
	return err
}

// DropDatabase removes a database. It waits for open transactions in it, and
// gives up after 30 seconds.
func (s *MariaDBServer) DropDatabase(name string) error {
	_, err := s.SQL("", "SET lock_wait_timeout = 30; DROP DATABASE IF EXISTS "+name)
	return err
}

// SQL runs statements as the user who may do everything, through MariaDB's own
// client, and returns the rows: a line each, with tabs between the columns. No
// database is chosen if its name is empty.
func (s *MariaDBServer) SQL(database, statements string) (string, error) {
	host, port, err := net.SplitHostPort(s.Addr)
	if err != nil {
		return "", err
	}
	client := s.client
	client.env = append(os.Environ(), "MYSQL_PWD="+s.Password)
	client.args = []string{"--no-defaults", "--protocol=tcp", "--host=" + host, "--port=" + port, "--user=" + s.User,
		"--connect-timeout=60", "--batch", "--skip-column-names", "--execute=" + statements, "--database=" + database}
	out, err := client.run()
	return strings.TrimSpace(out), err
}
