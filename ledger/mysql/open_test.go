package mysql_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	"rushgate"
	"rushgate/internal/testenv"
	"rushgate/ledger/mysql"
)

// hints checks that an error is one line that says what is wrong and how to mend it.
func hints(t testing.TB, err error, words ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want one that says %q", words)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("the error does not say %q: %v", w, err)
		}
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("the error has several lines: %v", err)
	}
	if strings.Contains(err.Error(), "secret") {
		t.Errorf("the error tells the password: %v", err)
	}
}

func sql(t testing.TB, s *testenv.MariaDBServer, statements string) string {
	t.Helper()
	out, err := s.SQL("", statements)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// user makes a user with some rights on a database, and returns the URL with it.
func user(t testing.TB, s *testenv.MariaDBServer, on, name, rights string) string {
	t.Helper()
	u, err := url.Parse(on)
	if err != nil {
		t.Fatal(err)
	}
	sql(t, s, fmt.Sprintf(`CREATE OR REPLACE USER %s@'127.0.0.1' IDENTIFIED BY 'secret'; GRANT %s ON %s.* TO %s@'127.0.0.1'`, name, rights, u.Path[1:], name))
	t.Cleanup(func() { sql(t, s, fmt.Sprintf(`DROP USER %s@'127.0.0.1'`, name)) })
	u.User = url.UserPassword(name, "secret")
	return u.String()
}

// sqlWhere names the only ledger's database of a server.
const sqlWhere = `SELECT table_schema FROM information_schema.tables WHERE table_name = 'claims'`

// as opens the ledger of a till once more, as a user with some rights.
func as(t testing.TB, s *testenv.MariaDBServer, k *till, rights string) *mysql.Ledger {
	t.Helper()
	l, err := mysql.Open(t.Context(), user(t, s, s.URL(sql(t, s, sqlWhere)), "plain", rights), mysql.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	if l.ID() != k.ID() {
		t.Fatal("another ledger")
	}
	return l
}

func TestBadURLs(t *testing.T) {
	for bad, words := range map[string]string{
		"":                                              "does not begin with mysql://",
		"postgres://u:secret@h/d":                       "does not begin with mysql://",
		"mysql://u:secret@h":                            "names no database",
		"mysql://u:secret@h/":                           "names no database",
		"mysql://u:secret@h/a/b":                        "names no database",
		"mysql://h/d":                                   "names no user",
		"mysql://u:secret@:3306/d":                      "names no host",
		"mysql://u:sec%ret@h/d":                         "cannot be read",
		"mysql://u:secret@h:port/d":                     "cannot be read",
		"mysql://u:secret@h/d#x":                        "after #",
		"mysql://u:secret@h/d?tls=yes":                  "false, true, skip-verify or preferred",
		"mysql://u:secret@h/d?tls=true&tls=true":        "more than once",
		"mysql://u:secret@h/d?parseTime=true":           `"parseTime"`,
		"mysql://u:secret@h/d?tls-ca=x":                 "add tls=true",
		"mysql://u:secret@h/d?tls=true&tls-ca=/nowhere": "tls-ca that cannot be read",
		"mysql://u:secret@h/d?tls=true&tls-key=/no":     "tls-cert and tls-key",
	} {
		_, err := mysql.Open(t.Context(), bad, mysql.Options{})
		hints(t, err, words)
	}
}

func TestWhatIsWrongAtTheStart(t *testing.T) {
	t.Parallel()
	s := server.Server(t)
	good := s.NewDatabase(t)
	change := func(f func(*url.URL)) string {
		u, err := url.Parse(good)
		if err != nil {
			t.Fatal(err)
		}
		f(u)
		return u.String()
	}
	nobody, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	away := nobody.Addr().String()
	for name, c := range map[string]struct{ url, words string }{
		"silent":    {change(func(u *url.URL) { u.Host = away }), "nobody answers there"},
		"password":  {change(func(u *url.URL) { u.User = url.UserPassword("rushgate", "secret") }), "correct user and password"},
		"user":      {change(func(u *url.URL) { u.User = url.UserPassword("nobody", "secret") }), "correct user and password"},
		"database":  {change(func(u *url.URL) { u.Path = "/nowhere" }), "CREATE DATABASE nowhere"},
		"tls":       {change(func(u *url.URL) { u.RawQuery = "tls=true" }), "correct tls"},
		"host":      {change(func(u *url.URL) { u.Host = "nowhere.invalid" }), "nowhere.invalid"},
		"no create": {user(t, s, good, "noone", "SELECT, INSERT, UPDATE"), "grant SELECT, INSERT and UPDATE on the database, and CREATE"},
	} {
		t.Run(name, func(t *testing.T) {
			patience := 30 * time.Second // a busy server is none that does not answer
			if name == "silent" || name == "host" {
				patience = time.Second
			}
			_, err := mysql.Open(t.Context(), c.url, mysql.Options{Patience: patience})
			hints(t, err, c.words)
		})
	}
	nobody.Close()
	_, err = mysql.Open(t.Context(), change(func(u *url.URL) { u.Host = away }), mysql.Options{})
	hints(t, err, "nobody answers there", "start the server")
	_, err = mysql.OpenReadOnly(t.Context(), good)
	hints(t, err, "there is no ledger in the database")

	newTill(t, good, mysql.Options{}) // the tables are there now
	_, err = mysql.Open(t.Context(), user(t, s, good, "looker", "SELECT"), mysql.Options{})
	hints(t, err, "the user may not do this")
	l, err := mysql.Open(t.Context(), user(t, s, good, "crowd", "SELECT, INSERT, UPDATE"), mysql.Options{})
	if err != nil {
		t.Fatalf("all rights that a node needs once there are tables: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestTheURLOfAUserWithAStrangePassword(t *testing.T) {
	s := server.Server(t)
	good := s.NewDatabase(t)
	strange := user(t, s, good, "strange", "ALL")
	sql(t, s, `SET PASSWORD FOR strange@'127.0.0.1' = PASSWORD('p@ss/w:rd?#% é')`)
	u, err := url.Parse(strange)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword("strange", "p@ss/w:rd?#% é")
	newTill(t, u.String(), mysql.Options{})
}

// TestWhoeverOnlyReads needs no right but to, and changes nothing.
func TestWhoeverOnlyReads(t *testing.T) {
	s := server.Server(t)
	url := s.NewDatabase(t)
	k := newTill(t, url, mysql.Options{})
	g := k.grant(3)
	if err := k.record(g); err != nil {
		t.Fatal(err)
	}
	last := k.batch
	for _, who := range []string{url, user(t, s, url, "looker", "SELECT")} {
		l, err := mysql.OpenReadOnly(t.Context(), who)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		if y, err := l.Tally(t.Context(), "s"); err != nil || y.Claims[rushgate.Held] != 3 || l.ID() != k.ID() {
			t.Errorf("tally %+v, %v", y, err)
		}
		if list, err := l.Events(t.Context(), "s", 0, 10); err != nil || len(list) != 4 {
			t.Errorf("events %+v, %v", list, err)
		}
		if yes, err := l.Recorded(t.Context(), &rushgate.Batch{ID: last}); !yes || err != nil {
			t.Errorf("Recorded says %v, %v", yes, err)
		}
		_, _, fence := l.Fence(t.Context(), "s", 0)
		_, _, lease := l.Acquire(t.Context(), rushgate.Lease{Name: "n", Holder: "h"}, time.Second)
		for _, err := range []error{fence, lease, l.Record(t.Context(), k.next(k.grant(1)))} {
			hints(t, err, "opened for reading only")
		}
	}
	k.taken(t, 3)
}

// TestAnotherLedgerBehindTheSameAddress: what a node knows of one ledger must
// never be written into another.
func TestAnotherLedgerBehindTheSameAddress(t *testing.T) {
	s := server.Server(t)
	for name, c := range map[string]struct{ change, words string }{
		"exchanged": {`UPDATE ledger SET id = 'another'`, "another ledger"},
		"emptied":   {`DELETE FROM ledger`, "another ledger"},
		"dropped":   {`DROP TABLE claims`, "damaged or gone"},
	} {
		t.Run(name, func(t *testing.T) {
			d := database(s.NewDatabase(t))
			k := newTill(t, string(d), mysql.Options{})
			d.do(t, d.hand(t), c.change)
			// All of them: a connection that has just answered may not be idle yet.
			all := sql(t, s, `SELECT GROUP_CONCAT(id) FROM information_schema.processlist WHERE db LIKE 'test%'`)
			for _, id := range strings.Split(all, ",") {
				_, _ = s.SQL("", `KILL CONNECTION `+id) // it may have ended meanwhile
			}
			err := k.record(k.grant(1))
			hints(t, err, c.words)
			if !errors.Is(err, rushgate.ErrLost) {
				t.Errorf("a service would not stop for: %v", err)
			}
		})
	}
}

func TestFacts(t *testing.T) {
	s := server.Server(t)
	url := s.NewDatabase(t)
	ahead := func() time.Time { return time.Now().Add(-time.Hour) }
	f, err := mysql.Probe(t.Context(), url, ahead)
	if err != nil {
		t.Fatal(err)
	}
	if f.Family != "MariaDB" || !strings.HasPrefix(f.Version, "10.") || f.Tables != 0 || f.Known != 1 || f.ID != "" || f.Encrypted || f.ReadOnly || !f.DoubleWrite ||
		f.FlushLog != 0 || f.Binlog || f.MaxConnections != 151 || f.Connections < 1 || f.MaxPacket != 2<<20 {
		t.Errorf("an empty database: %+v", f)
	}
	if off := f.Skew - time.Hour; off < -f.Within-time.Millisecond || off > f.Within+time.Millisecond || f.Within <= 0 {
		t.Errorf("the clock is %s ahead, give or take %s; want an hour", f.Skew, f.Within)
	}
	k := newTill(t, url, mysql.Options{})
	if f, err = mysql.Probe(t.Context(), url, time.Now); err != nil || f.Tables != 1 || f.ID != k.ID() || len(f.Missing) != 0 {
		t.Errorf("a ledger: %+v, %v", f, err)
	}
	f, err = mysql.Probe(t.Context(), user(t, s, url, "looker", "SELECT"), time.Now)
	if err != nil || len(f.Missing) != 11 || !strings.Contains(fmt.Sprint(f.Missing), "INSERT on claims") {
		t.Errorf("a user who may look: %+v, %v", f, err)
	}
	_, err = mysql.Probe(context.Background(), strings.Replace(url, "test_", "nowhere_", 1), time.Now)
	hints(t, err, "there is no such database")
}
