package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"rushgate"
	"rushgate/internal/testenv"
	"rushgate/ledger/postgres"
)

// changed returns a URL with something in it changed.
func changed(t testing.TB, good string, change func(*url.URL)) string {
	t.Helper()
	u, err := url.Parse(good)
	must(t, err)
	change(u)
	return u.String()
}

// through is the schema's URL with another address.
func (s schema) through(t testing.TB, addr string) string {
	return changed(t, s.url, func(u *url.URL) { u.Host = addr })
}

// as makes a user with some rights on the schema's tables, and returns the URL with it.
func (s schema) as(t testing.TB, name, rights string) string {
	t.Helper()
	name += strings.ReplaceAll(strings.ToLower(t.Name()), "/", "_")
	s.sql(t, fmt.Sprintf(`CREATE ROLE %q LOGIN PASSWORD 'secret'`, name))
	s.sql(t, fmt.Sprintf(`GRANT USAGE ON SCHEMA %s TO %q`, s.name, name))
	if rights != "" {
		s.sql(t, fmt.Sprintf(`GRANT %s ON ALL TABLES IN SCHEMA %s TO %q`, rights, s.name, name))
	}
	t.Cleanup(func() { s.sql(t, fmt.Sprintf(`DROP OWNED BY %[1]q; DROP ROLE %[1]q`, name)) })
	return changed(t, s.url, func(u *url.URL) { u.User = url.UserPassword(name, "secret") })
}

func TestBadURLs(t *testing.T) {
	for bad, words := range map[string]string{
		"":                                      "postgres://user:password@host:port/database",
		"mysql://u:secret@h/d":                  "postgres://user:password@host:port/database",
		"host=h password=secret":                "postgres://user:password@host:port/database",
		"postgres://u:sec%secret@h/d":           "postgres://user:password@host:port/database",
		"postgres://u:secret@h:port/d":          "postgres://user:password@host:port/database",
		"postgres://u:secret@h/d?sslmode=maybe": "sslmode",
		"postgres://u:secret@h/d?sslmode=verify-full&sslrootcert=/nowhere": "nowhere",
	} {
		_, err := postgres.Open(t.Context(), bad, postgres.Options{})
		hints(t, err, words)
	}
	for _, bad := range []postgres.Options{{Writers: -1}, {Readers: 5000}, {LockWait: 1}, {LockWait: time.Hour}, {Patience: -1}} {
		if _, err := postgres.Open(t.Context(), "postgres://h/d", bad); err == nil {
			t.Errorf("%+v was taken", bad)
		}
	}
}

func TestWhatIsWrongAtTheStart(t *testing.T) {
	t.Parallel()
	s := newSchema(t)
	nobody, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	away := nobody.Addr().String()
	for name, c := range map[string]struct{ url, words string }{
		"silent":    {s.through(t, away), "did not answer in time"},
		"password":  {changed(t, s.url, func(u *url.URL) { u.User = url.UserPassword("quick", "secret") }), `refuses the password of user "quick"`},
		"user":      {changed(t, s.url, func(u *url.URL) { u.User = url.UserPassword("nobody", "secret") }), `user "nobody"`},
		"database":  {changed(t, s.url, func(u *url.URL) { u.Path = "/nowhere" }), `no database "nowhere": make it`},
		"tls":       {strings.Replace(s.url, "sslmode=disable", "sslmode=require", 1), "does not speak TLS"},
		"host":      {s.through(t, "nowhere.invalid:5432"), "nowhere.invalid"},
		"setting":   {s.url + "&no_such=1", "a setting that the server does not know"},
		"read only": {s.url + "&default_transaction_read_only=on", "takes no writes"},
		"no create": {s.as(t, "looker", ""), "let the owner of the database say GRANT"},
	} {
		t.Run(name, func(t *testing.T) {
			patience := 30 * time.Second // a busy server is none that does not answer
			if name == "silent" || name == "host" {
				patience = time.Second
			}
			_, err := postgres.Open(t.Context(), c.url, postgres.Options{Patience: patience})
			hints(t, err, c.words)
		})
	}
	must(t, nobody.Close())
	_, err = postgres.Open(t.Context(), s.through(t, away), postgres.Options{})
	hints(t, err, "no PostgreSQL answers at "+away+": start it, or mend")
	_, err = postgres.OpenReadOnly(t.Context(), s.url)
	hints(t, err, "there is no ledger in this database")

	newTill(t, s.url, postgres.Options{}) // the tables are there now
	_, err = postgres.Open(t.Context(), s.as(t, "reader", "SELECT"), postgres.Options{})
	hints(t, err, "lacks", "INSERT on claims", "GRANT SELECT, INSERT, UPDATE")
	opened(t, s.as(t, "crowd", "SELECT, INSERT, UPDATE"), postgres.Options{}) // is enough once there are tables
	s.sql(t, `INSERT INTO goose_db_version (version_id, is_applied) VALUES (999, true)`)
	_, err = postgres.Open(t.Context(), s.url, postgres.Options{})
	hints(t, err, "the ledger was made by a newer Rushgate: the tables have version 999")
	if !errors.Is(err, postgres.ErrNewer) {
		t.Errorf("not ErrNewer: %v", err)
	}
}

func TestAFullServer(t *testing.T) {
	t.Parallel()
	s := testenv.PostgreSQL(t, "max_connections=4", "superuser_reserved_connections=1", "max_wal_senders=0")
	var others []*postgres.Ledger
	for { // each begins with one connection, and has one more when it has been asked
		l, err := postgres.Open(t.Context(), s.URL("postgres"), postgres.Options{})
		if err == nil {
			t.Cleanup(func() { l.Close() })
			others = append(others, l)
			_, err = l.Marks(t.Context())
		}
		if err != nil {
			hints(t, err, "has no connection left: raise its max_connections")
			break
		}
	}
	if len(others) == 0 || len(others) > 4 {
		t.Fatalf("%d ledgers", len(others))
	}
}

// TestWhoeverOnlyReads needs no right but to, and changes nothing.
func TestWhoeverOnlyReads(t *testing.T) {
	s := newSchema(t)
	k := newTill(t, s.url, postgres.Options{})
	must(t, k.record(k.grant(3)))
	last := k.batch
	for _, who := range []string{s.url, s.as(t, "looker", "SELECT"), s.url + "&default_transaction_read_only=on"} {
		l, err := postgres.OpenReadOnly(t.Context(), who)
		must(t, err)
		defer l.Close()
		if y, err := l.Tally(t.Context(), "s"); err != nil || y.Claims[rushgate.Held] != 3 || l.ID() != k.ID() || l.ID() == "" {
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

// TestManyNodesStartAtOnce on an empty database: one makes the tables.
func TestManyNodesStartAtOnce(t *testing.T) {
	for range 4 {
		startAtOnce(t, newSchema(t))
	}
}

func startAtOnce(t *testing.T, s schema) {
	t.Helper()
	var nodes sync.WaitGroup
	ids := make([]string, 6)
	for i := range ids {
		nodes.Go(func() {
			l, err := postgres.Open(t.Context(), s.url, postgres.Options{})
			if err != nil {
				t.Error(err)
				return
			}
			ids[i] = l.ID()
			l.Close()
		})
	}
	nodes.Wait()
	for _, id := range ids {
		if id != ids[0] || id == "" {
			t.Errorf("ids %q", ids)
		}
	}
}

// TestAnotherLedgerBehindTheSameAddress: what a node knows of one ledger must
// never be written into another.
func TestAnotherLedgerBehindTheSameAddress(t *testing.T) {
	for name, change := range map[string]string{
		"exchanged": `UPDATE ledger SET id = 'another'`,
		"emptied":   `DELETE FROM ledger`,
		"dropped":   `DROP TABLE ledger, claims`,
	} {
		t.Run(name, func(t *testing.T) {
			s := newSchema(t)
			k := newTill(t, s.url, postgres.Options{})
			s.sql(t, change)
			s.sql(t, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1`, s.name)
			err := k.record(k.grant(1))
			hints(t, err, "removed or replaced")
			if !errors.Is(err, rushgate.ErrLost) {
				t.Errorf("a service would not stop for: %v", err)
			}
		})
	}
}

func TestFacts(t *testing.T) {
	s := newSchema(t)
	ahead := func() time.Time { return time.Now().Add(-time.Hour) }
	f, err := postgres.Probe(t.Context(), s.url, ahead)
	must(t, err)
	if f.Version == "" || f.Tables != 0 || f.Known != 1 || f.ID != "" || f.Encrypted || f.ReadOnly || !f.Primary || !f.Fsync || !f.FullPageWrites ||
		f.SynchronousCommit != "on" || f.Standbys != "" || f.MaxConnections != 200 || f.Connections < 1 {
		t.Errorf("an empty database: %+v", f)
	}
	if off := f.Skew - time.Hour; off < -f.Within-time.Millisecond || off > f.Within+time.Millisecond || f.Within <= 0 {
		t.Errorf("the clock is %s ahead, give or take %s; want an hour", f.Skew, f.Within)
	}
	k := newTill(t, s.url, postgres.Options{})
	f, err = postgres.Probe(t.Context(), s.url+"&default_transaction_read_only=on&synchronous_commit=off", time.Now)
	if err != nil || f.Tables != 1 || f.ID != k.ID() || len(f.Missing) != 0 || !f.ReadOnly || f.SynchronousCommit != "off" {
		t.Errorf("a ledger: %+v, %v", f, err)
	}
	f, err = postgres.Probe(t.Context(), s.as(t, "looker", "SELECT"), time.Now)
	if err != nil || len(f.Missing) != 12 || !strings.Contains(fmt.Sprint(f.Missing), "INSERT on claims") {
		t.Errorf("a user who may look: %+v, %v", f, err)
	}
	_, err = postgres.Probe(context.Background(), changed(t, s.url, func(u *url.URL) { u.Path = "/nowhere" }), time.Now)
	hints(t, err, `no database "nowhere"`)
}

// TestCommitsAreOnTheDisk: a session's commits wait for the disk, whatever the
// server or the address says. What is stricter stays.
func TestCommitsAreOnTheDisk(t *testing.T) {
	s := newSchema(t)
	for said, want := range map[string]string{"off": "on", "local": "local", "on": "on", "remote_apply": "remote_apply"} {
		l := opened(t, s.url+"&synchronous_commit="+said, postgres.Options{})
		if got, err := l.Setting(t.Context(), "synchronous_commit"); got != want || err != nil {
			t.Errorf("%s: the session has %q, %v", said, got, err)
		}
	}
}

// TestAServerThatDoesNotWaitForItsDisk is warned of, and used.
func TestAServerThatDoesNotWaitForItsDisk(t *testing.T) {
	t.Parallel()
	s := testenv.PostgreSQL(t, "fsync=off")
	var log strings.Builder
	newTill(t, s.URL("postgres"), postgres.Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
	if !strings.Contains(log.String(), "fsync=off") {
		t.Errorf("the log says %q", log.String())
	}
	if f, err := postgres.Probe(t.Context(), s.URL("postgres"), time.Now); err != nil || f.Fsync {
		t.Errorf("%+v, %v", f, err)
	}
}
