package redis_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"rushgate/internal/testenv"
	"rushgate/lock"
	"rushgate/lock/redis"
)

// short is for locks that are to be lost soon.
func short() lock.Options { return lock.Options{Lease: 900 * time.Millisecond} }

// generous bounds a wait for something that comes soon, on a machine that has
// other things to do.
const generous = 30 * time.Second

func take(t *testing.T, l *lock.Locker, opts ...lock.Option) *lock.Held {
	t.Helper()
	h, err := l.Lock(t.Context(), "k", append(opts, lock.WithMaxWait(generous))...)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func lost(t *testing.T, h *lock.Held) {
	t.Helper()
	select {
	case <-h.Context().Done():
	case <-time.After(generous):
		t.Fatal("the context goes on")
	}
	if err := context.Cause(h.Context()); !errors.Is(err, lock.ErrLost) || h.Valid() {
		t.Fatalf("%v, valid %t", err, h.Valid())
	}
}

// after takes the lock that somebody else has lost, and checks that the other
// one cannot do it any harm.
func after(t *testing.T, h *lock.Held, l *lock.Locker) {
	t.Helper()
	next := take(t, l)
	if next.Fence() <= h.Fence() {
		t.Fatalf("a fence of %d after %d", next.Fence(), h.Fence())
	}
	if err := h.Unlock(t.Context()); !errors.Is(err, lock.ErrLost) {
		t.Fatal(err)
	}
	if _, err := l.TryLock(t.Context(), "k"); !errors.Is(err, lock.ErrHeld) {
		t.Fatalf("the late holder has released another's lock: %v", err)
	}
	if err := next.Unlock(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// again waits until a lock is renewed after this moment.
func again(t *testing.T, h *lock.Held) {
	t.Helper()
	late := time.After(generous)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for before := h.Left(); ; {
		select {
		case <-tick.C:
		case <-h.Context().Done():
			t.Fatal(context.Cause(h.Context()))
		case <-late:
			t.Fatal("it is not renewed")
		}
		left := h.Left()
		if left > before {
			return
		}
		before = left
	}
}

func TestAServerThatStandsStill(t *testing.T) {
	t.Parallel() // it waits more than it works
	own, opts := testenv.Redis(t), fresh()
	a, b := locker(t, backend(t, own.Addr, opts), short()), locker(t, backend(t, own.Addr, opts), short())
	h := take(t, a)
	if err := own.Pause(); err != nil {
		t.Fatal(err)
	}
	lost(t, h)
	if _, err := b.TryLock(t.Context(), "k"); !errors.Is(err, lock.ErrUnavailable) {
		t.Fatal(err)
	}
	if err := own.Resume(); err != nil {
		t.Fatal(err)
	}
	after(t, h, b)
}

func TestAServerThatForgets(t *testing.T) {
	t.Parallel() // it waits more than it works
	own, opts := testenv.Redis(t), fresh()
	a, b := locker(t, backend(t, own.Addr, opts), short()), locker(t, backend(t, own.Addr, opts), short())
	h := take(t, a)
	own.Kill()
	if err := own.Start(); err != nil {
		t.Fatal(err)
	}
	lost(t, h)
	after(t, h, b)
}

// wire is a Redis behind a network that can be spoilt, with one client through
// it and one beside it.
type wire struct {
	proxy        *testenv.Proxy
	through, own *lock.Locker
	prefix       string
}

func newWire(t *testing.T, opts lock.Options) *wire {
	shared, o := server.Server(t), fresh()
	w := &wire{proxy: testenv.NewProxy(t, shared.Addr), prefix: o.Prefix}
	w.through = locker(t, backend(t, w.proxy.Addr, o), opts)
	w.own = locker(t, backend(t, shared.Addr, o), opts)
	return w
}

func TestConnectionsThatAreReset(t *testing.T) {
	w := newWire(t, lock.Options{Lease: 2 * time.Second})
	h := take(t, w.through)
	for range 2 {
		w.proxy.Cut()
		again(t, h)
	}
	if err := h.Unlock(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestAPartition(t *testing.T) {
	for _, way := range []testenv.Direction{testenv.ToServer, testenv.ToClient, testenv.Both} {
		t.Run(strconv.Itoa(int(way)), func(t *testing.T) {
			t.Parallel() // it waits more than it works
			w := newWire(t, short())
			h := take(t, w.through)
			w.proxy.Swallow(way)
			if way == testenv.ToClient {
				// The server goes on hearing the holder, who hears nothing: it must
				// stop all the same.
				lost(t, h)
			} else {
				next := take(t, w.own)
				if h.Valid() {
					t.Fatal("two holders")
				}
				lost(t, h)
				if err := next.Unlock(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := w.through.TryLock(t.Context(), "other"); !errors.Is(err, lock.ErrUnavailable) {
				t.Fatal(err)
			}
			if err := w.proxy.Heal(); err != nil {
				t.Fatal(err)
			}
			after(t, h, w.own)
		})
	}
}

// What was asked arrives when the caller has long given up.
func TestARequestThatComesLate(t *testing.T) {
	w := newWire(t, short())
	if _, err := w.through.TryLock(t.Context(), "warm"); err != nil {
		t.Fatal(err)
	}
	w.proxy.Hold(testenv.ToServer)
	if _, err := w.through.TryLock(t.Context(), "k"); !errors.Is(err, lock.ErrUnavailable) {
		t.Fatal(err)
	}
	h := take(t, w.own)
	if err := w.proxy.Heal(); err != nil {
		t.Fatal(err)
	}
	again(t, h)
	if err := h.Unlock(t.Context()); err != nil {
		t.Fatal(err)
	}
	next := take(t, w.own)
	if err := next.Unlock(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// The news of a grant gets lost with the connection. With such a lease, nothing
// but hearing again makes the waiting one ask.
func TestNewsThatGetLost(t *testing.T) {
	w := newWire(t, lock.Options{Lease: 30 * time.Minute})
	h := take(t, w.own)
	done := make(chan error, 1)
	go func() {
		_, err := w.through.Lock(t.Context(), "k", lock.WithMaxWait(generous))
		done <- err
	}()
	w.inLine(t)
	w.proxy.Cut()
	if err := h.Unlock(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// inLine waits until somebody waits for the key and listens.
func (w *wire) inLine(t *testing.T) {
	t.Helper()
	raw := client(t, server.Server(t).Addr)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	late := time.After(generous)
	for {
		n, err := raw.Do(t.Context(), raw.B().Zcard().Key(w.prefix+"{k}:line").Build()).AsInt64()
		if err != nil {
			t.Fatal(err)
		}
		ears, err := raw.Do(t.Context(), raw.B().PubsubChannels().Pattern(w.prefix+"*").Build()).AsStrSlice()
		if err != nil {
			t.Fatal(err)
		}
		if n > 0 && len(ears) > 0 {
			return
		}
		select {
		case <-tick.C:
		case <-late:
			t.Fatal("nobody waits")
		}
	}
}

func TestAServerThatForgetsItsScripts(t *testing.T) {
	own := testenv.Redis(t)
	l, raw := locker(t, backend(t, own.Addr, fresh()), short()), client(t, own.Addr)
	h := take(t, l)
	if err := raw.Do(t.Context(), raw.B().ScriptFlush().Build()).Error(); err != nil {
		t.Fatal(err)
	}
	again(t, h)
	if err := h.Unlock(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestFencesGrowWhateverIsForgotten(t *testing.T) {
	own, opts := testenv.Redis(t), fresh()
	l, raw := locker(t, backend(t, own.Addr, opts), lock.Options{}), client(t, own.Addr)
	var last uint64
	grown := func(what string) {
		t.Helper()
		h := take(t, l)
		if h.Fence() <= last {
			t.Fatalf("%s: a fence of %d after %d", what, h.Fence(), last)
		}
		last = h.Fence()
		if err := h.Unlock(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	grown("at first")
	if err := raw.Do(t.Context(), raw.B().Flushall().Build()).Error(); err != nil {
		t.Fatal(err)
	}
	grown("all was deleted")
	// The clock has gone back by an hour, seen from the latest fence.
	last += uint64(time.Hour.Microseconds())
	ahead := raw.B().Set().Key(opts.Prefix + "{k}:fence").Value(strconv.FormatUint(last, 10)).Build()
	if err := raw.Do(t.Context(), ahead).Error(); err != nil {
		t.Fatal(err)
	}
	before := last
	grown("the clock went back")
	if last != before+1 {
		t.Fatalf("the fence went from %d to %d", before, last)
	}
}

// A key that nobody has leaves little behind, and not for ever.
func TestAnIdleKey(t *testing.T) {
	opts := fresh()
	addr := server.Server(t).Addr
	l, raw := locker(t, backend(t, addr, opts), lock.Options{}), client(t, addr)
	if err := take(t, l).Unlock(t.Context()); err != nil {
		t.Fatal(err)
	}
	keys, err := raw.Do(t.Context(), raw.B().Keys().Pattern(opts.Prefix+"*").Build()).AsStrSlice()
	if err != nil || strings.Join(keys, " ") != opts.Prefix+"{k}:fence" {
		t.Fatal(keys, err)
	}
	ttl, err := raw.Do(t.Context(), raw.B().Pttl().Key(keys[0]).Build()).AsInt64()
	if err != nil || ttl <= 0 || time.Duration(ttl)*time.Millisecond > 24*time.Hour {
		t.Fatal(ttl, err)
	}
}

// After a failover the new master may not know a lock: then its holder loses it,
// and fences go on growing.
func TestAFailover(t *testing.T) {
	t.Parallel() // it waits more than it works
	group, opts := testenv.RedisSentinel(t, 1), fresh()
	connect := func() *lock.Locker {
		c, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: group.Addrs(), DisableCache: true,
			Sentinel: rueidis.SentinelOption{MasterSet: group.Name}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		b, err := redis.New(c, opts)
		if err != nil {
			t.Fatal(err)
		}
		return locker(t, b, short())
	}
	a, b := connect(), connect()
	h := take(t, a)
	old, err := group.Master()
	if err != nil {
		t.Fatal(err)
	}
	old.Kill()
	lost(t, h) // it takes longer than a lease
	if _, err := group.MasterAfter(old); err != nil {
		t.Fatal(err)
	}
	after(t, h, b)
}

func TestACluster(t *testing.T) {
	t.Parallel() // it waits more than it works
	group := testenv.RedisCluster(t, 3, 0)
	c, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: group.Addrs(), DisableCache: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	b, err := redis.New(c, fresh())
	if err != nil {
		t.Fatal(err)
	}
	l, m := locker(t, b, lock.Options{}), locker(t, b, lock.Options{})
	keys := strings.Fields("a b c d e f g h i j")
	all, err := l.LockAll(t.Context(), keys)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		again, err := m.LockAll(t.Context(), keys)
		if err == nil {
			err = again.Unlock(t.Context())
		}
		done <- err
	}()
	if err := all.Unlock(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

func TestOptionsAreChecked(t *testing.T) {
	c := client(t, server.Server(t).Addr)
	for _, o := range []redis.Options{{Prefix: "a{b}"}, {Prefix: "a b"}, {Prefix: strings.Repeat("x", 65)}, {Memory: time.Minute}, {Memory: 1000 * time.Hour}} {
		if _, err := redis.New(c, o); !errors.Is(err, lock.ErrInvalid) {
			t.Errorf("%+v: %v", o, err)
		}
	}
	if _, err := redis.New(nil, redis.Options{}); !errors.Is(err, lock.ErrInvalid) {
		t.Error(err)
	}
}
