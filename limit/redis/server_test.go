package redis_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"rushgate/internal/testenv"
	"rushgate/limit"
	"rushgate/limit/limittest"
	"rushgate/limit/redis"
)

func memory() limittest.Factory {
	return limittest.Factory{New: func(tb testing.TB, policy limit.Policy, clock *limittest.Clock) limit.Limiter {
		m, err := limit.NewMemory(policy, limit.MemoryOptions{Clock: clock.Now})
		if err != nil {
			tb.Fatal(err)
		}
		return m
	}}
}

func TestRedisAgreesWithMemory(t *testing.T) {
	limittest.Agree(t, memory(), factory(connect(t, server.Server(t).Addr)))
}

// everyKind is one policy of each kind that forgets within the test's patience.
func everyKind() []limit.Policy {
	const w = 60 * time.Millisecond
	return []limit.Policy{limit.GCRA(limit.Per(1, w), 1), limit.FixedWindow(1, w), limit.AlignedWindow(1, w), limit.SlidingCounter(1, w),
		limit.SlidingWindow(1, w), limit.SlidingWindowGrain(1, w, w/3)}
}

func open(t *testing.T, client rueidis.Client, name string, p limit.Policy, o redis.Options) *redis.Limiter {
	t.Helper()
	l, err := redis.New(client, limit.Rule{Name: name, Policy: p}, o)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func take(t *testing.T, l limit.Limiter, key string, n int64) limit.Result {
	t.Helper()
	r, err := l.Take(t.Context(), key, n)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// scan returns the keys of a prefix.
func scan(t *testing.T, client rueidis.Client, prefix string) []string {
	t.Helper()
	keys, err := client.Do(t.Context(), client.B().Keys().Pattern(prefix+"*").Build()).AsStrSlice()
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

// TestKeysExpireByThemselves takes from a key of each kind by the server's own
// time. Each is kept no longer than its state means anything, and goes.
func TestKeysExpireByThemselves(t *testing.T) {
	client := connect(t, server.Server(t).Addr)
	options := redis.Options{Prefix: "expire:", Timeout: 20 * time.Second}
	for _, p := range everyKind() {
		l := open(t, client, "e", p, options)
		r := take(t, l, p.String(), 1)
		if !r.Granted {
			t.Fatalf("%s: %+v", p, r)
		}
		ttl, err := client.Do(t.Context(), client.B().Pttl().Key("expire:e:"+string(p.Kind())+":"+p.String()).Build()).AsInt64()
		if most := 2*p.Window().Milliseconds() + 2; err != nil || ttl == -1 || ttl > most {
			t.Errorf("%s: %d ms to live, at most %d, %v", p, ttl, most, err)
		}
	}
	for len(scan(t, client, "expire:")) > 0 {
		if err := t.Context().Err(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestTheServersTimeCounts: a unit is granted again after the wait that was
// asked for, and not before, by the server's clock alone.
func TestTheServersTimeCounts(t *testing.T) {
	client := connect(t, server.Server(t).Addr)
	for _, p := range everyKind() {
		l, key := open(t, client, "time", p, patient()), p.String()
		first := take(t, l, key, 1)
		second := take(t, l, key, 1)
		for !second.Granted {
			second = take(t, l, key, 1)
		}
		apart := second.Receipt().At - first.Receipt().At
		if p.Kind() != limit.KindAligned && p.Kind() != limit.KindCounter && apart < p.Window().Microseconds() {
			t.Errorf("%s: two within %d µs", p, apart)
		}
		now, err := client.Do(t.Context(), client.B().Time().Build()).AsIntSlice()
		if err != nil || second.Receipt().At > now[0]*1e6+now[1] {
			t.Errorf("%s: taken at %d, and it is %v, %v", p, second.Receipt().At, now, err)
		}
	}
}

// TestOtherNumbersUnderTheSameName: a policy that becomes narrower counts what
// was taken before, and locks nobody for longer than it says.
func TestOtherNumbersUnderTheSameName(t *testing.T) {
	client, clock := connect(t, server.Server(t).Addr), limittest.NewClock()
	for name, c := range map[string][2]limit.Policy{
		"bucket":  {limit.GCRA(limit.Per(7, time.Hour), 100), limit.GCRA(limit.Per(3, time.Minute), 2)},
		"fixed":   {limit.FixedWindow(100, time.Hour), limit.FixedWindow(2, time.Hour)},
		"aligned": {limit.AlignedWindow(100, time.Hour), limit.AlignedWindow(2, time.Hour)},
		"counter": {limit.SlidingCounter(100, time.Hour), limit.SlidingCounter(2, time.Hour)},
		"log":     {limit.SlidingWindow(100, time.Hour), limit.SlidingWindow(2, time.Hour)},
	} {
		wide, narrow := open(t, client, name, c[0], patient()), open(t, client, name, c[1], patient())
		wide.Tell(clock.Micros)
		narrow.Tell(clock.Micros)
		take(t, wide, "k", 50)
		r := take(t, narrow, "k", 1)
		if r.Granted || r.Remaining != 0 || r.RetryAfter <= 0 || r.RetryAfter > 2*c[1].Window() {
			t.Errorf("%s: %+v", name, r)
		}
		clock.Move(r.RetryAfter.Microseconds())
		if r := take(t, narrow, "k", 1); !r.Granted {
			t.Errorf("%s: after the wait that was asked for: %+v", name, r)
		}
	}
}

// TestAServerThatHasNoScripts: it was started anew, or its scripts were flushed.
func TestAServerThatHasNoScripts(t *testing.T) {
	client := connect(t, testenv.Redis(t).Addr)
	l := open(t, client, "flushed", limit.FixedWindow(3, time.Hour), patient())
	for want := int64(2); want >= 0; want-- {
		if err := client.Do(t.Context(), client.B().ScriptFlush().Build()).Error(); err != nil {
			t.Fatal(err)
		}
		if r := take(t, l, "k", 1); r.Remaining != want {
			t.Errorf("%+v, want %d left", r, want)
		}
	}
}

// TestTheServerIsAway: stopped in the middle, and gone. The wait is bounded, the
// error says so, and when the server goes on so do the limits.
func TestTheServerIsAway(t *testing.T) {
	own := testenv.Redis(t)
	client := connect(t, own.Addr)
	l := open(t, client, "away", limit.FixedWindow(3, time.Hour), redis.Options{Timeout: 50 * time.Millisecond})
	calls := map[string]func(context.Context) error{
		"take":   func(ctx context.Context) error { _, err := l.Take(ctx, "k", 1); return err },
		"peek":   func(ctx context.Context) error { _, err := l.Peek(ctx, "k", 1); return err },
		"forget": func(ctx context.Context) error { return l.Forget(ctx, "k") },
	}
	away := func(how string) {
		for name, call := range calls {
			if err := call(t.Context()); !errors.Is(err, limit.ErrUnavailable) {
				t.Errorf("%s while Redis is %s: %v", name, how, err)
			}
		}
	}
	for calls["take"](t.Context()) != nil { // the first connection may take longer than the timeout
	}
	if err := own.Pause(); err != nil {
		t.Fatal(err)
	}
	away("paused")
	if err := own.Resume(); err != nil {
		t.Fatal(err)
	}
	for calls["peek"](t.Context()) != nil {
	}
	own.Stop()
	away("gone")
	given, cancel := context.WithCancel(t.Context())
	cancel()
	if err := calls["take"](given); !errors.Is(err, limit.ErrUnavailable) {
		t.Errorf("a context that is over: %v", err)
	}
}

// TestCluster: limiters without a slot are spread over the cluster, and rules
// that are decided together share one.
func TestCluster(t *testing.T) {
	group := testenv.RedisCluster(t, 3, 0)
	client := connect(t, group.Servers[0].Addr)
	l := open(t, client, "spread", limit.FixedWindow(2, time.Hour), redis.Options{Timeout: 20 * time.Second})
	for _, key := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "{", "}", "{}x"} {
		for want := int64(1); want >= 0; want-- {
			if r := take(t, l, key, 1); r.Remaining != want {
				t.Errorf("%s: %+v, want %d left", key, r, want)
			}
		}
		if r := take(t, l, key, 1); r.Granted {
			t.Errorf("%s: %+v", key, r)
		}
	}
	f := factory(client)
	rules := []limit.Rule{{Name: "user", Policy: limit.GCRA(limit.PerHour(1), 2)}, {Name: "ip", Policy: limit.SlidingWindow(5, time.Hour)},
		{Name: "all", Policy: limit.SlidingCounter(7, 24*3650*time.Hour)}}
	j := f.NewJoint(t, rules, nil)
	granted := 0
	for _, user := range []string{"ann", "ben", "cat", "dan"} {
		for range 3 {
			v, err := j.Take(t.Context(), []limit.Ask{{Key: user, N: 1}, {Key: user[:1], N: 1}, {Key: "all", N: 1}})
			if err != nil {
				t.Fatal(err)
			}
			if v.Granted {
				granted++
			}
		}
	}
	if granted != 7 {
		t.Errorf("%d granted, want 7", granted)
	}
}

func TestWrongOptions(t *testing.T) {
	client := connect(t, server.Server(t).Addr)
	good := limit.Rule{Name: "r", Policy: limit.GCRA(limit.PerSecond(1), 1)}
	for name, err := range map[string]error{
		"no client":          second(redis.New(nil, good, redis.Options{})),
		"no name":            second(redis.New(client, limit.Rule{Policy: good.Policy}, redis.Options{})),
		"no policy":          second(redis.New(client, limit.Rule{Name: "r"}, redis.Options{})),
		"a brace":            second(redis.New(client, good, redis.Options{Prefix: "{"})),
		"a brace in a slot":  second(redis.New(client, good, redis.Options{Slot: "a}"})),
		"a negative timeout": second(redis.New(client, good, redis.Options{Timeout: -1})),
		"no slot":            second(redis.NewJoint(client, []limit.Rule{good}, redis.Options{})),
		"twice the name":     second(redis.NewJoint(client, []limit.Rule{good, good}, redis.Options{Slot: "s"})),
	} {
		if !errors.Is(err, limit.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func second[V any](_ V, err error) error { return err }

// TestForeignKeys: what something else has written is never taken for a limit.
func TestForeignKeys(t *testing.T) {
	client := connect(t, server.Server(t).Addr)
	for _, p := range everyKind() {
		l := open(t, client, "foreign", p, redis.Options{Prefix: "foreign:", Timeout: 20 * time.Second})
		key := "foreign:foreign:" + string(p.Kind()) + ":k"
		for _, value := range []string{"hello", "", "1 2 3 4"} {
			if err := client.Do(t.Context(), client.B().Set().Key(key).Value(value).Build()).Error(); err != nil {
				t.Fatal(err)
			}
			if r, err := l.Take(t.Context(), "k", 1); !errors.Is(err, limit.ErrUnavailable) {
				t.Errorf("%s over %q: %+v, %v", p, value, r, err)
			}
		}
	}
}
