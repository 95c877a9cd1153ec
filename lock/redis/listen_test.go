package redis_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"rushgate/lock"
)

// A client outlives many Lockers: what they listened to is not left behind.
func TestNobodyIsToldOnceListenHasEnded(t *testing.T) {
	opts, addr := fresh(), server.Server(t).Addr
	b, raw := backend(t, addr, opts), client(t, addr)
	ctx, cancel := context.WithTimeout(t.Context(), generous)
	defer cancel()
	if err := b.Listen(ctx, "node", cancel, func(lock.Grant) {}); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	late := time.After(generous)
	for {
		channels, err := raw.Do(t.Context(), raw.B().PubsubChannels().Pattern(opts.Prefix+"*").Build()).AsStrSlice()
		if err == nil && len(channels) == 0 {
			return
		}
		select {
		case <-late:
			t.Fatal(channels, err)
		default:
		}
	}
}
