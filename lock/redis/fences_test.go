package redis_test

import (
	"testing"

	"rushgate/lock"
)

// A counter ends a day after its first use, while a reader is there who got his
// fence before others, which were greater, came and went.
func TestAReaderDoesNotBringBackAFenceThatIsForgotten(t *testing.T) {
	opts, addr := fresh(), server.Server(t).Addr
	l, raw := locker(t, backend(t, addr, opts), short()), client(t, addr)
	read := func() *lock.Held {
		h, err := l.RLock(t.Context(), "k")
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	stays, goes := read(), read()
	if err := goes.Unlock(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := raw.Do(t.Context(), raw.B().Del().Key(opts.Prefix+"{k}:fence").Build()).Error(); err != nil {
		t.Fatal(err)
	}
	again(t, stays)
	if next := read(); next.Fence() <= goes.Fence() {
		t.Fatalf("a fence of %d after %d", next.Fence(), goes.Fence())
	}
}
