package stage_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"rushgate/internal/testenv"
	"rushgate/lab"
	"rushgate/lab/stage"
)

func TestMain(m *testing.M) {
	lab.Silence()
	goleak.VerifyTestMain(m)
}

// open opens a stage for some ways.
func open(t *testing.T, opts stage.Options, names ...string) (*stage.Stage, []lab.Way) {
	t.Helper()
	ways, err := lab.Choose(names)
	if err != nil {
		t.Fatal(err)
	}
	for i := range ways {
		opts.Needs = append(opts.Needs, ways[i].Needs...)
	}
	if opts.Connections == 0 {
		opts.Connections = 8
	}
	s, err := stage.Open(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s, ways
}

// sell sells one unit by a way, at a place of its own, and returns the place.
func sell(t *testing.T, s *stage.Stage, w lab.Way) lab.Place {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	place, err := s.Place(ctx, w)
	if err != nil {
		t.Fatal(err)
	}
	if place.Lease != 10*time.Second { // as in a real shop, so that a machine that is busy takes nobody's lock away
		t.Errorf("%s: locks are kept for %s", w.Name, place.Lease)
	}
	seller, err := w.Open(ctx, place)
	if err != nil {
		t.Fatal(err)
	}
	answer := lab.Answer(0)
	if err = seller.Begin(ctx, 1); err == nil {
		answer, err = seller.Buy(ctx, lab.Order{ID: "u1-1", User: "u1"})
	}
	if err := errors.Join(err, seller.Close()); err != nil || answer != lab.Granted {
		t.Fatalf("%s: answer %d, %v", w.Name, answer, err)
	}
	return place
}

// TestGiven: on servers that others use, too, the lab takes nothing of theirs and
// leaves nothing of its own.
func TestGiven(t *testing.T) {
	r, pg, maria := testenv.Redis(t, "requirepass secret"), testenv.PostgreSQL(t), testenv.MariaDB(t)
	theirs := redisClient(t, r)
	theirKeys := []string{"collab:doc", "lab:1"} // of somebody else, who has a lab, too
	for _, key := range theirKeys {
		if err := theirs.Set(t.Context(), key, "1", 0).Err(); err != nil {
			t.Fatal(err)
		}
	}
	databases := func() (all []string) {
		p, err := pg.SQL("postgres", "SELECT datname FROM pg_database")
		if err != nil {
			t.Fatal(err)
		}
		m, err := maria.SQL("", "SHOW DATABASES")
		if err != nil {
			t.Fatal(err)
		}
		return append(strings.Fields(p), strings.Fields(m)...)
	}
	before := databases()
	s, ways := open(t, stage.Options{Redis: []string{r.URL()}, Postgres: pg.URL("postgres"), MariaDB: maria.URL("mysql")},
		"redis-lua", "lock-rushgate", "sql-unique-postgres", "sql-unique-mariadb", "rushgate-redis")
	for _, w := range ways {
		sell(t, s, w)
		sell(t, s, w)
	}
	s.Close()
	if after := databases(); !slices.Equal(before, after) {
		t.Errorf("databases before: %v, afterwards: %v", before, after)
	}
	keys, err := theirs.Keys(t.Context(), "*").Result()
	if err != nil {
		t.Fatal(err)
	}
	if slices.Sort(keys); !slices.Equal(keys, theirKeys) {
		t.Errorf("keys afterwards: %v", keys)
	}
}

// TestTwoLabs: a server that was given has one lab at a time, and the one that is
// there is not disturbed by the refusal of the other.
func TestTwoLabs(t *testing.T) {
	r, pg, maria := testenv.Redis(t), testenv.PostgreSQL(t), testenv.MariaDB(t)
	for flag, c := range map[string]struct {
		opts stage.Options
		way  string
	}{
		"--redis":    {stage.Options{Redis: []string{r.Addr}}, "redis-lua"},
		"--postgres": {stage.Options{Postgres: pg.URL("postgres")}, "sql-unique-postgres"},
		"--mariadb":  {stage.Options{MariaDB: maria.URL("mysql")}, "sql-unique-mariadb"},
	} {
		t.Run(flag, func(t *testing.T) {
			s, ways := open(t, c.opts, c.way)
			place, err := s.Place(t.Context(), ways[0])
			if err != nil {
				t.Fatal(err)
			}
			seller, err := ways[0].Open(t.Context(), place)
			if err != nil {
				t.Fatal(err)
			}
			defer seller.Close()
			if err := seller.Begin(t.Context(), 7); err != nil {
				t.Fatal(err)
			}
			c.opts.Connections, c.opts.Needs = 8, ways[0].Needs
			second, err := stage.Open(t.Context(), c.opts)
			if err == nil {
				second.Close()
			}
			tells(t, err, flag+": ", "another lab is at work there")
			if left, err := seller.Left(t.Context()); left != 7 || err != nil {
				t.Errorf("%d are left of the first lab's 7, %v", left, err)
			}
			s.Close()
			third, err := stage.Open(t.Context(), c.opts)
			if err != nil {
				t.Fatal(err)
			}
			third.Close()
		})
	}
}

// TestTooManyConnections: the server says so before the crowd finds out.
func TestTooManyConnections(t *testing.T) {
	pg := testenv.PostgreSQL(t, "max_connections=20")
	s, ways := open(t, stage.Options{Postgres: pg.URL("postgres"), Connections: 64}, "sql-unique-postgres")
	_, err := s.Place(t.Context(), ways[0])
	if err == nil || !strings.Contains(err.Error(), "takes 20 connections") || !strings.Contains(err.Error(), "--connections 64") {
		t.Errorf("%v", err)
	}
}

// TestLeftOut: a server that is not there is told once, with the ways that need it.
func TestLeftOut(t *testing.T) {
	t.Setenv("PATH", "/nowhere")
	s, ways := open(t, stage.Options{}, "redis", "sql-unique-sqlite")
	possible, notes := s.Choose(ways, true)
	if len(possible) != 1 || possible[0].Name != "sql-unique-sqlite" {
		t.Errorf("possible: %v", possible)
	}
	if len(notes) != 1 || !strings.Contains(notes[0], "6 of the ways are left out") || !strings.Contains(notes[0], "redis-server is not installed") {
		t.Errorf("notes: %q", notes)
	}
}

// TestUseless: whoever gives an address does not want to do without.
func TestUseless(t *testing.T) {
	replica := testenv.RedisReplica(t, testenv.Redis(t))
	pg := testenv.PostgreSQL(t)
	for name, c := range map[string]struct {
		opts  stage.Options
		words []string
	}{
		"no Redis":      {stage.Options{Redis: []string{"127.0.0.1:1"}}, []string{"--redis: ", "127.0.0.1:1", "refused"}},
		"a replica":     {stage.Options{Redis: []string{replica.Addr}}, []string{"--redis: ", "replica", "master"}},
		"a cluster":     {stage.Options{Redis: []string{testenv.Redis(t, "cluster-enabled yes").Addr}}, []string{"--redis: ", "node of a cluster"}},
		"no TLS":        {stage.Options{Redis: []string{"rediss://" + replica.Addr}}, []string{"--redis: ", "if it does not speak TLS, write redis://"}},
		"no PostgreSQL": {stage.Options{Postgres: "postgres://me:geheim@127.0.0.1:1/shop"}, []string{"--postgres: ", "127.0.0.1:1", "refused"}},
		"password":      {stage.Options{Postgres: strings.Replace(pg.URL("postgres"), pg.Password, "geheim", 1)}, []string{"--postgres: ", "password authentication failed"}},
		"no MariaDB":    {stage.Options{MariaDB: "mysql://me:geheim@127.0.0.1:1/shop?tls=true"}, []string{"--mariadb: ", "127.0.0.1:1", "refused"}},
	} {
		t.Run(name, func(t *testing.T) {
			c.opts.Needs = []lab.Need{lab.Redis}
			switch {
			case c.opts.Postgres != "":
				c.opts.Needs = []lab.Need{lab.PostgreSQL}
			case c.opts.MariaDB != "":
				c.opts.Needs = []lab.Need{lab.MariaDB}
			}
			c.opts.Connections = 8
			s, err := stage.Open(t.Context(), c.opts)
			if err == nil {
				s.Close()
				t.Fatal("it was opened")
			}
			tells(t, err, c.words...)
		})
	}
}

// tells sees that an error says what it has to in one line, and no secret.
func tells(t *testing.T, err error, words ...string) {
	t.Helper()
	if err == nil {
		t.Fatal("no error")
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%q does not say %q", err, w)
		}
	}
	if strings.Contains(err.Error(), "geheim") || strings.Contains(err.Error(), "\n") {
		t.Errorf("%q", err)
	}
}

// TestValidate: what cannot be an address is told before anything is asked.
func TestValidate(t *testing.T) {
	for _, c := range []struct {
		opts  stage.Options
		words []string
	}{
		{stage.Options{Redis: []string{"http://me:geheim@cache:6379"}}, []string{"--redis: ", "redis://user:password@host:port/db", "rediss://"}},
		{stage.Options{Redis: []string{"redis://me:ge%zzheim@cache"}}, []string{"--redis: ", "%40"}},
		{stage.Options{Redis: []string{"redis://me:geheim@cache/shop"}}, []string{"--redis: ", `"shop"`, "number"}},
		{stage.Options{Redis: []string{"redis://cache?sentinel=shop"}}, []string{"--redis: ", "sentinels", "master"}},
		{stage.Options{Redis: []string{"a", "b"}}, []string{"--redis: 2 addresses", "one, or three"}},
		{stage.Options{Redis: []string{"a", "b", "a:6379"}}, []string{"--redis: ", "a:6379 twice"}},
		{stage.Options{Redis: []string{"redis://me:geheim@a", "b", "c"}}, []string{"--redis: ", "the same for all three"}},
		{stage.Options{Postgres: "db:5432"}, []string{"--postgres: ", "postgres://user:password@host:port/database"}},
		{stage.Options{Postgres: "mysql://me:geheim@db/shop"}, []string{"--postgres: ", "postgres://"}},
		{stage.Options{Postgres: "postgres://me:ge%zzheim@db/shop"}, []string{"--postgres: ", "%40"}},
		{stage.Options{Postgres: "postgres://me:geheim@a,b/shop"}, []string{"--postgres: ", "one host"}},
		{stage.Options{MariaDB: "me:geheim@tcp(db)/shop"}, []string{"--mariadb: ", "mysql://user:password@host:port/database"}},
		{stage.Options{MariaDB: "mysql://me:geheim@db/shop?tls=yes"}, []string{"--mariadb: ", "tls=yes", "skip-verify"}},
		{stage.Options{MariaDB: "mysql://me:geheim@db/shop?sslmode=require"}, []string{"--mariadb: ", `"sslmode"`, "only tls"}},
	} {
		tells(t, c.opts.Validate(), c.words...)
	}
	for _, good := range []stage.Options{
		{Redis: []string{"cache"}}, {Redis: []string{"[::1]:6379"}}, {Redis: []string{"rediss://:p%40ss@cache/3"}}, {Redis: []string{"a", "b:1", "redis://c"}},
		{Postgres: "postgresql://me@db/shop?sslmode=require"}, {MariaDB: "mysql://me:p%40ss@db/?tls=preferred"},
	} {
		if err := good.Validate(); err != nil {
			t.Errorf("%+v: %v", good, err)
		}
	}
}

// TestStopgaps: the classics on SQLite are for those who have no server, and for
// those who ask.
func TestStopgaps(t *testing.T) {
	s, ways := open(t, stage.Options{}, "sql-unique-postgres", "sql-unique-sqlite")
	if possible, _ := s.Choose(ways, false); len(possible) != 1 || possible[0].Name != "sql-unique-postgres" {
		t.Errorf("with a server: %v", possible)
	}
	if possible, _ := s.Choose(ways, true); len(possible) != 2 {
		t.Errorf("asked for: %v", possible)
	}
	s, ways = open(t, stage.Options{}, "sql-unique-sqlite")
	if possible, _ := s.Choose(ways, false); len(possible) != 1 {
		t.Errorf("without a server: %v", possible)
	}
}

// TestCount: servers count what was sent to them, whoever sent it.
func TestCount(t *testing.T) {
	s, ways := open(t, stage.Options{}, "redis-lua", "sql-unique-postgres", "sql-unique-mariadb")
	for _, w := range ways {
		before, err := s.Count(t.Context(), w)
		if err != nil {
			t.Fatal(err)
		}
		sell(t, s, w)
		after, err := s.Count(t.Context(), w)
		if err != nil {
			t.Fatal(err)
		}
		if n := after.RoundTrips - before.RoundTrips; before.RoundTrips < 0 || n < 3 || n > 60 {
			t.Errorf("%s: %d round trips for a sale of one unit", w.Name, n)
		}
	}
}
