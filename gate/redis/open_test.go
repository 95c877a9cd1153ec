package redis_test

import (
	"strings"
	"testing"
	"time"

	"rushgate/gate/redis"
	"rushgate/internal/testenv"
)

// Every wrong setting is one line that names it, and the mend.
func TestWhatIsWrongIsSaidInOneLine(t *testing.T) {
	locked := testenv.Redis(t, "requirepass secret")
	evicting := testenv.Redis(t, "maxmemory-policy allkeys-lru")
	master := testenv.Redis(t)
	replica := testenv.RedisReplica(t, master)
	first := fresh()
	first.Ledger = "ledger one"
	open(t, master.URL(), first).Close()
	open(t, master.URL(), first).Close()
	second := redis.Options{Prefix: first.Prefix, Ledger: "ledger two"}
	for _, c := range []struct {
		url  string
		opts redis.Options
		want string
	}{
		{"localhost:6379", redis.Options{}, "must begin with redis://"},
		{"http://localhost", redis.Options{}, "must begin with redis://"},
		{"redis://", redis.Options{}, "names no host"},
		{"redis://host:99999", redis.Options{}, "must be host:port"},
		{"redis://host/one", redis.Options{}, "must be a number"},
		{"redis://a,b/3", redis.Options{}, "database 0 alone"},
		{"redis://host?prefix={}", redis.Options{}, "without braces"},
		{"redis://host?replicas=0", redis.Options{}, "must be 1 to 16"},
		{"redis://host?timeout=3", redis.Options{}, `unknown option "timeout"`},
		{"redis://u:%zz@host", redis.Options{}, "not escaped well"},
		{"redis://host", redis.Options{Journal: -1}, "Journal must be 1 to"},
		{"redis://host", redis.Options{Timeout: time.Hour}, "Timeout must be 1ms to"},
		{"redis://" + locked.Addr, redis.Options{}, "wants a password"},
		{"redis://:wrong@" + locked.Addr, redis.Options{}, "refuses the user or the password"},
		{evicting.URL(), redis.Options{}, "CONFIG SET maxmemory-policy noeviction"},
		{replica.URL(), redis.Options{}, "read-only replica"},
		{strings.Replace(master.URL(), "redis:", "rediss:", 1), redis.Options{Timeout: 200 * time.Millisecond}, "does not speak TLS"},
		{"redis://127.0.0.1:1", redis.Options{}, "refused"},
		{master.URL(), second, "?prefix="},
	} {
		if c.opts.Timeout == 0 { // a busy server is none that does not answer
			c.opts.Timeout, c.opts.Patience = 30*time.Second, 30*time.Second
		}
		g, err := redis.Open(t.Context(), c.url, c.opts)
		if err == nil {
			g.Close()
			t.Errorf("%s was opened", c.url)
			continue
		}
		if !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), "wrong@") {
			t.Errorf("%s: %v\nwant one line with %q", c.url, err, c.want)
		}
	}
}

func TestProbe(t *testing.T) {
	server := testenv.Redis(t, "appendonly yes", "appendfsync always")
	testenv.RedisReplica(t, server)
	g := open(t, server.URL(), fresh())
	defer g.Close()
	facts, err := g.Probe(t.Context())
	if err != nil || len(facts) != 1 {
		t.Fatalf("%+v, %v", facts, err)
	}
	f := facts[0]
	if f.Addr != server.Addr || f.Mode != "standalone" || f.Role != "master" || f.Replicas != 1 || !f.AppendOnly ||
		f.Fsync != "always" || f.Policy != "noeviction" || f.RunID == "" || f.Skew.Abs() > f.Trip+time.Second {
		t.Fatalf("%+v", f)
	}
}
