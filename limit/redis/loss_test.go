package redis_test

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"rushgate/internal/testenv"
	"rushgate/limit"
	"rushgate/limit/limittest"
	"rushgate/limit/redis"
)

// longPolicies are one of each kind, of n units, of which none comes back during a test.
func longPolicies(n int64) []limit.Policy {
	const w = 5 * 366 * 24 * time.Hour
	return []limit.Policy{limit.GCRA(limit.Per(n, w), n), limit.FixedWindow(n, w), limit.AlignedWindow(n, w), limit.SlidingCounter(n, w),
		limit.SlidingWindow(n, w), limit.SlidingWindowGrain(n, w, w/3)}
}

// takeAll takes units one by one until one is refused, and returns how many there were.
func takeAll(t *testing.T, l limit.Limiter, key string) (n int64) {
	t.Helper()
	for take(t, l, key, 1).Granted {
		n++
	}
	return n
}

// do runs a command.
func do(t *testing.T, c rueidis.Client, words ...string) rueidis.RedisResult {
	t.Helper()
	r := c.Do(t.Context(), c.B().Arbitrary(words...).Build())
	if err := r.Error(); err != nil && !rueidis.IsRedisNil(err) {
		t.Fatal(words, err)
	}
	return r
}

// TestAReplicaThatLags becomes master: the takes that it has not heard of are granted
// once more, exactly those. So a window sees its limit, and beyond it what was lost,
// which is never more than the limit.
func TestAReplicaThatLags(t *testing.T) {
	t.Parallel()
	const limited, heard = 10, 4
	master := testenv.Redis(t)
	replica := testenv.RedisReplica(t, master)
	old, promoted := connect(t, master.Addr), connect(t, replica.Addr)
	for _, p := range longPolicies(limited) {
		for range heard {
			take(t, open(t, old, "lag", p, patient()), p.String(), 1)
		}
	}
	if n, err := do(t, old, "WAIT", "1", "30000").AsInt64(); err != nil || n != 1 {
		t.Fatal(n, err)
	}
	do(t, promoted, "REPLICAOF", "NO", "ONE") // from here on it hears nothing
	for _, p := range longPolicies(limited) {
		if n := takeAll(t, open(t, old, "lag", p, patient()), p.String()); n != limited-heard {
			t.Errorf("%s: the old master grants %d more", p, n)
		}
	}
	master.Kill()
	for _, p := range longPolicies(limited) {
		if n := takeAll(t, open(t, promoted, "lag", p, patient()), p.String()); n != limited-heard {
			t.Errorf("%s: the new master grants %d, and did not hear of %d", p, n, limited-heard)
		}
	}
}

// filler fills a Redis with what is no limit, 16 KB at a time, up to about a megabyte
// more than it has now.
type filler struct {
	client rueidis.Client
	n      int
}

// bound says how much memory a Redis may have, and what it does then.
func bound(t *testing.T, c rueidis.Client, policy string) *filler {
	t.Helper()
	info, err := do(t, c, "INFO", "memory").ToString()
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(info, "used_memory:")
	used, err := strconv.ParseInt(rest[:strings.IndexAny(rest, "\r\n")], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	do(t, c, "CONFIG", "SET", "maxmemory-policy", policy)
	do(t, c, "CONFIG", "SET", "maxmemory", strconv.FormatInt(used+1<<20, 10))
	return &filler{client: c}
}

// fill adds one more, and returns what Redis says.
func (f *filler) fill(t *testing.T) error {
	f.n++
	return f.client.Do(t.Context(), f.client.B().Set().Key(fmt.Sprint("filler-", f.n)).Value(strings.Repeat("x", 16<<10)).Ex(time.Hour).Build()).Error()
}

// empty makes room again.
func (f *filler) empty(t *testing.T) {
	t.Helper()
	for ; f.n > 0; f.n-- {
		do(t, f.client, "DEL", fmt.Sprint("filler-", f.n))
	}
}

// TestAKeyThatIsEvicted stands as if it had never been used: every policy but
// noeviction, also of those that take keys with a time to live alone, which all of
// ours have, grants the whole limit again, and no more than that.
func TestAKeyThatIsEvicted(t *testing.T) {
	t.Parallel()
	const limited = 3
	for _, policy := range []string{"allkeys-lru", "volatile-ttl"} {
		client := connect(t, testenv.Redis(t).Addr)
		fill := bound(t, client, policy)
		for _, p := range longPolicies(limited) {
			l := open(t, client, "evicted", p, redis.Options{Prefix: "evicted:", Timeout: 20 * time.Second})
			if policy == "volatile-ttl" { // the fillers would always go first
				l.Tell(limittest.NewClock().Micros)
			}
			if n := takeAll(t, l, "k"); n != limited {
				t.Fatalf("%s: %d granted", p, n)
			}
			for fills := 0; len(scan(t, client, "evicted:")) > 0; fills++ {
				if err := fill.fill(t); err != nil || fills > 100_000 {
					t.Fatal(fills, err)
				}
			}
			fill.empty(t) // or it would go again at once
			if n := takeAll(t, l, "k"); n != limited {
				t.Errorf("%s, %s: %d granted again, want %d", policy, p, n, limited)
			}
			do(t, client, "DEL", scan(t, client, "evicted:")[0])
		}
	}
}

// TestAFullServerThatEvictsNothing takes nothing, and says so: of several rules that
// are decided together none. What needs no memory is answered: refusals, and how a key
// stands.
func TestAFullServerThatEvictsNothing(t *testing.T) {
	t.Parallel()
	client := connect(t, testenv.Redis(t).Addr)
	rules := make([]limit.Rule, 0, 6)
	asks := make([]limit.Ask, 0, 6)
	for i, p := range longPolicies(3) {
		rules = append(rules, limit.Rule{Name: fmt.Sprint("rule-", i), Policy: p})
		asks = append(asks, limit.Ask{Key: "joint", N: 1})
		takeAll(t, open(t, client, rules[i].Name, p, patient()), "spent")
	}
	joint, err := redis.NewJoint(client, rules, patient())
	if err != nil {
		t.Fatal(err)
	}
	if v, err := joint.Take(t.Context(), asks); err != nil || !v.Granted {
		t.Fatalf("%+v, %v", v, err)
	}
	do(t, client, "CONFIG", "SET", "maxmemory-policy", "noeviction")
	do(t, client, "CONFIG", "SET", "maxmemory", "1") // byte
	if v, err := joint.Take(t.Context(), asks); !errors.Is(err, limit.ErrUnavailable) {
		t.Errorf("a joint: %+v, %v", v, err)
	}
	for _, r := range rules {
		l := open(t, client, r.Name, r.Policy, patient())
		if got := take(t, l, "spent", 1); got.Granted {
			t.Errorf("%s: %+v", r.Policy, got)
		}
		for _, key := range []string{"new", "joint"} {
			if got, err := l.Take(t.Context(), key, 1); !errors.Is(err, limit.ErrUnavailable) {
				t.Errorf("%s: %+v, %v", r.Policy, got, err)
			}
		}
		if got, err := l.Peek(t.Context(), "joint", 1); err != nil || got.Remaining != 2 {
			t.Errorf("%s: %+v, %v", r.Policy, got, err)
		}
	}
	do(t, client, "CONFIG", "SET", "maxmemory", "0")
	if v, err := joint.Take(t.Context(), asks); err != nil || v.Results[0].Remaining != 1 {
		t.Errorf("with memory again: %+v, %v", v, err)
	}
}
