package app

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// A node that does not reach the gate gives the chores back, and asks for them
// again when it does. One answer that got lost costs nothing.
func TestChoresNeedTheGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var away atomic.Bool
		l := &oneLease{}
		l.say(granted)
		k := &keeper{leases: l, ttl: 3 * time.Second, holder: "me", log: slog.New(slog.DiscardHandler)}
		d := beginDuty(k, func(context.Context) error {
			if away.Load() {
				return errAway
			}
			return nil
		})
		defer d.end()
		holds := func(want bool, freed int) {
			t.Helper()
			l.mu.Lock()
			defer l.mu.Unlock()
			if d.mine.Load() != want || l.freed != freed {
				t.Fatalf("it has the chores: %t; it gave them back %d times, want %d", d.mine.Load(), l.freed, freed)
			}
		}
		pass(10500 * time.Millisecond)
		holds(true, 0)
		away.Store(true)
		pass(2 * time.Second)
		away.Store(false)
		pass(2 * time.Second)
		holds(true, 0)
		away.Store(true)
		pass(time.Hour)
		holds(false, 1)
		away.Store(false)
		pass(2 * time.Second)
		holds(true, 1)
	})
}
