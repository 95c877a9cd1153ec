package redis_test

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"rushgate/internal/testenv"
	"rushgate/lock"
	"rushgate/lock/locktest"
)

func TestFencesGrowWhateverIsForgotten(t *testing.T) {
	own, opts := testenv.Redis(t), fresh()
	l, raw := locker(t, backend(t, own.Addr, opts), lock.Options{}), client(t, own.Addr)
	var last uint64
	grown := func(what string) {
		t.Helper()
		h := locktest.Take(t, l, "k")
		if h.Fence() <= last {
			t.Fatalf("%s: a fence of %d after %d", what, h.Fence(), last)
		}
		last = h.Fence()
		locktest.Unlock(t, h)
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

// A counter ends a day after its first use, while a reader is there who got his
// fence before others, which were greater, came and went.
func TestAReaderDoesNotBringBackAFenceThatIsForgotten(t *testing.T) {
	opts, addr := fresh(), server.Server(t).Addr
	l, raw := locker(t, backend(t, addr, opts), renewing()), client(t, addr)
	read := func() *lock.Held {
		h, err := l.RLock(t.Context(), "k")
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	stays, goes := read(), read()
	locktest.Unlock(t, goes)
	if err := raw.Do(t.Context(), raw.B().Del().Key(opts.Prefix+"{k}:fence").Build()).Error(); err != nil {
		t.Fatal(err)
	}
	locktest.Renewed(t, stays)
	if next := read(); next.Fence() <= goes.Fence() {
		t.Fatalf("a fence of %d after %d", next.Fence(), goes.Fence())
	}
}

// A key that nobody has leaves little behind, and not for ever.
func TestAnIdleKey(t *testing.T) {
	opts := fresh()
	addr := server.Server(t).Addr
	l, raw := locker(t, backend(t, addr, opts), lock.Options{}), client(t, addr)
	if err := locktest.Take(t, l, "k").Unlock(t.Context()); err != nil {
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

// Whoever is refused and does not wait leaves the key as it is: the holder's
// release costs no more for it.
func TestARefusalWritesNothing(t *testing.T) {
	opts, addr := fresh(), server.Server(t).Addr
	a, b, raw := locker(t, backend(t, addr, opts), lock.Options{}), locker(t, backend(t, addr, opts), lock.Options{}), client(t, addr)
	values := func() string {
		t.Helper()
		all, err := raw.Do(t.Context(), raw.B().Mget().Key(opts.Prefix+"{k}", opts.Prefix+"{k}:fence").Build()).AsStrSlice()
		if err != nil {
			t.Fatal(err)
		}
		n, err := raw.Do(t.Context(), raw.B().Exists().Key(opts.Prefix+"{k}:claims", opts.Prefix+"{k}:line").Build()).AsInt64()
		if err != nil || n != 0 {
			t.Fatalf("%d keys of claims that are shared or wait, %v", n, err)
		}
		return strings.Join(all, "\n")
	}
	h := locktest.Take(t, a, "k")
	before := values()
	if _, err := b.TryLock(t.Context(), "k"); !errors.Is(err, lock.ErrHeld) {
		t.Fatal(err)
	}
	if after := values(); after != before {
		t.Fatalf("before %q, after %q", before, after)
	}
	locktest.Unlock(t, h)
}
