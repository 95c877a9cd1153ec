package redis_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"rushgate/internal/testenv"
	"rushgate/once"
	"rushgate/once/redis"
)

func node(tb testing.TB, s once.Store) *once.Once {
	tb.Helper()
	o, err := once.New(once.Config{Store: s, Lease: 20 * time.Second, Timeout: 10 * time.Second, Patience: 5 * time.Minute})
	if err != nil {
		tb.Fatal(err)
	}
	return o
}

// TestNetworkThatCuts: connections are cut in the middle of work, again and
// again, on the way to its end and back. Every key is completed once all the same.
func TestNetworkThatCuts(t *testing.T) {
	t.Parallel()
	const keys, callers = 12, 6
	proxy := testenv.NewProxy(t, server.Server(t).Addr)
	o := redis.Options{Prefix: prefix()}
	var completed [keys]atomic.Int64
	var got [keys]sync.Map
	var nodes [callers]*once.Once
	for c := range nodes {
		nodes[c] = node(t, open(t, proxy.Addr, o))
	}
	var all sync.WaitGroup
	for c, n := range nodes {
		all.Go(func() {
			for k := range keys {
				k := (k + c) % keys
				for {
					r, err := n.Do(t.Context(), fmt.Sprint("key-", k), func(context.Context, once.Attempt) ([]byte, error) {
						proxy.Cut()
						completed[k].Add(1)
						return fmt.Append(nil, "by ", c), nil
					})
					if err == nil {
						got[k].Store(string(r.Value), r.Token)
						break
					}
					if t.Context().Err() != nil {
						t.Error(err)
						return
					}
				}
			}
		})
	}
	all.Wait()
	for k := range keys {
		values := 0
		got[k].Range(func(any, any) bool { values++; return true })
		if values != 1 || completed[k].Load() != 1 {
			t.Errorf("key %d: %d different results, %d completions", k, values, completed[k].Load())
		}
	}
}

// TestServerIsKilled while the work runs. With its data on the disk, the result
// is recorded when it is back; without, the attempt has lost its key, and says so.
func TestServerIsKilled(t *testing.T) {
	for name, c := range map[string]struct {
		settings []string
		want     error
	}{
		"with its data": {[]string{"appendonly yes", "appendfsync always"}, nil},
		"without":       {nil, once.ErrLost},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := testenv.Redis(t, c.settings...)
			o := node(t, open(t, s.Addr, redis.Options{}))
			r, err := o.Do(t.Context(), "k", func(context.Context, once.Attempt) ([]byte, error) {
				s.Kill()
				s.Restart(t)
				return []byte("v"), nil
			})
			if !errors.Is(err, c.want) || err == nil && string(r.Value) != "v" {
				t.Fatalf("%+v, %v; want the error %v", r, err, c.want)
			}
		})
	}
}

// TestSubscriptionThatBreaks: who waits hears of the end although the connection
// on which it would have been told is cut.
func TestSubscriptionThatBreaks(t *testing.T) {
	t.Parallel()
	addr, o := server.Server(t).Addr, redis.Options{Prefix: prefix()}
	proxy := testenv.NewProxy(t, addr)
	holder, waiter := node(t, open(t, addr, o)), node(t, open(t, proxy.Addr, o))
	waited := make(chan error, 1)
	r, err := holder.Do(t.Context(), "k", func(context.Context, once.Attempt) ([]byte, error) {
		go func() {
			r, err := waiter.Do(t.Context(), "k", nil)
			if err == nil && (!r.Replayed || string(r.Value) != "v") {
				err = fmt.Errorf("it got %+v", r)
			}
			waited <- err
		}()
		listening(t, addr, o.Prefix+"ends")
		proxy.Cut()
		return []byte("v"), nil
	})
	if err != nil || r.Replayed {
		t.Fatal(r, err)
	}
	if err := <-waited; err != nil {
		t.Fatal(err)
	}
}

// listening returns when somebody has subscribed to a channel.
func listening(t *testing.T, addr, channel string) {
	t.Helper()
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{addr}})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	for range 10_000 {
		n, err := client.Do(t.Context(), client.B().PubsubNumsub().Channel(channel).Build()).AsIntMap()
		if err != nil {
			t.Fatal(err)
		}
		if n[channel] > 0 {
			return
		}
		<-again.C
	}
	t.Fatal("nobody subscribes to " + channel)
}

// TestCluster: all keys of a set lie on one server, whatever its name.
func TestCluster(t *testing.T) {
	t.Parallel()
	group := testenv.RedisCluster(t, 3, 0)
	addr := group.Servers[0].Addr
	bits := open(t, addr, redis.Options{Prefix: "b:", Marks: redis.Bitmap})
	names := open(t, addr, redis.Options{})
	marks, err := once.NewMarks(bits)
	if err != nil {
		t.Fatal(err)
	}
	toggles, err := once.NewToggles(names)
	if err != nil {
		t.Fatal(err)
	}
	o := node(t, names)
	for i, set := range []string{"a", "b", "c{d}", "e}f", "{", "g{}"} {
		if got, err := marks.FirstEach(t.Context(), set, []string{"1", "70000", "2000000"}); err != nil || !got[0] || !got[1] || !got[2] {
			t.Errorf("%q: %v, %v", set, got, err)
		}
		if n, err := marks.Count(t.Context(), set); err != nil || n != 3 {
			t.Errorf("%q: %d, %v", set, n, err)
		}
		if err := marks.Forget(t.Context(), set); err != nil {
			t.Errorf("%q: %v", set, err)
		}
		if got, err := toggles.Apply(t.Context(), set, once.Intent{Member: "m", On: true, Seq: 1}); err != nil || !got.Changed {
			t.Errorf("%q: %+v, %v", set, got, err)
		}
		r, err := o.Do(t.Context(), set, func(context.Context, once.Attempt) ([]byte, error) { return fmt.Append(nil, i), nil })
		if err != nil || string(r.Value) != fmt.Sprint(i) {
			t.Errorf("%q: %+v, %v", set, r, err)
		}
	}
	if _, err := marks.First(t.Context(), "}", "1"); !errors.Is(err, once.ErrName) {
		t.Error(err)
	}
}

// TestHugeID: one great id does not take the memory of all below it, and one
// above the bound is refused.
func TestHugeID(t *testing.T) {
	t.Parallel()
	addr, o := server.Server(t).Addr, redis.Options{Prefix: prefix(), Marks: redis.Bitmap, MaxID: 1<<32 - 1}
	marks, err := once.NewMarks(open(t, addr, o))
	if err != nil {
		t.Fatal(err)
	}
	if first, err := marks.First(t.Context(), "s", "4294967295"); err != nil || !first {
		t.Fatal(first, err)
	}
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{addr}})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	n, err := client.Do(t.Context(), client.B().Strlen().Key(o.Prefix+"marks:{s}:65535").Build()).AsInt64()
	if err != nil || n != 8192 {
		t.Errorf("the segment takes %d bytes, %v", n, err)
	}
	for _, bad := range []string{"4294967296", "-1", "01", "ann", "99999999999999999999"} {
		if _, err := marks.First(t.Context(), "s", bad); !errors.Is(err, once.ErrName) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	for _, o := range []redis.Options{{Prefix: "a{b}"}, {Prefix: " "}, {Marks: 7}, {MaxID: 1 << 32}, {KeepMarks: -1}} {
		client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{server.Server(t).Addr}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := redis.New(client, o); err == nil {
			t.Errorf("%+v is taken", o)
		}
		client.Close()
	}
	if _, err := redis.New(nil, redis.Options{}); err == nil {
		t.Error("no client is taken")
	}
}

// TestTokensGrowAlthoughTheClockGoesBack: the clock of a Redis that takes over may be
// behind; here, an attempt has a token of a hundred years to come.
func TestTokensGrowAlthoughTheClockGoesBack(t *testing.T) {
	t.Parallel()
	r := testenv.Redis(t)
	s, raw := open(t, r.Addr, redis.Options{}), connectRaw(t, r.Addr)
	begin := func(owner string) once.State {
		state, err := s.Begin(t.Context(), once.Claim{Key: "k", Owner: owner, Lease: time.Minute})
		if err != nil || state.Phase != once.Mine {
			t.Fatalf("%+v, %v", state, err)
		}
		return state
	}
	owner := once.NewOwner()
	first := begin(owner)
	if held, err := s.End(t.Context(), "k", owner, once.Outcome{Phase: once.Free}); err != nil || !held {
		t.Fatal(held, err)
	}
	keys, err := raw.Do(t.Context(), raw.B().Keys().Pattern("*").Build()).AsStrSlice()
	if err != nil || len(keys) != 1 {
		t.Fatal(keys, err)
	}
	record, err := raw.Do(t.Context(), raw.B().Get().Key(keys[0]).Build()).ToString()
	if err != nil {
		t.Fatal(err)
	}
	later := first.Token + 100*365*24*time.Hour.Microseconds()
	record = strings.Replace(record, fmt.Sprint(first.Token), fmt.Sprint(later), 1)
	if err := raw.Do(t.Context(), raw.B().Set().Key(keys[0]).Value(record).Build()).Error(); err != nil {
		t.Fatal(err)
	}
	if next := begin(once.NewOwner()); next.Token != later+1 || next.Number != 2 {
		t.Errorf("after the token %d comes %+v", later, next)
	}
}

func connectRaw(t *testing.T, addr string) rueidis.Client {
	t.Helper()
	c, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{addr}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}
