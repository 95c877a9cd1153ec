package redis_test

import (
	"fmt"
	"testing"
	"time"

	"rushgate"
	"rushgate/gate/redis"
)

// A load takes effect on one shard after the other. Whoever looks between has
// to wait, and finds nothing forgotten; unless the loader has died there.
func TestALookBetweenTwoSwitches(t *testing.T) {
	for shard := range 2 {
		t.Run(fmt.Sprintf("Shard%dIsLate", shard), func(t *testing.T) {
			opts := fresh()
			opts.Patience, opts.Poll = 100*time.Millisecond, time.Minute
			s := newShop(t, server.Server(t).URL(), opts, 2)
			other := newShop(t, server.Server(t).URL(), opts, 2)
			s.load(10)
			other.want(rushgate.Granted, other.asks(4))
			c, late := raw(t, server.Server(t).Addr), fmt.Sprintf("%s{sale.%d}:loading", opts.Prefix, shard)
			s.sale.Epoch++
			snap := rushgate.Snapshot{Sale: &s.sale, Stock: []rushgate.Stock{{Item: "a", Total: 10}}}
			snap.Claims = func(func(rushgate.Claim, error) bool) { command(t, c, "SET", late, "2 slow 0") }
			if s.gate.Load(t.Context(), snap) == nil {
				t.Fatal("a load in which one shard was taken over went well")
			}
			_, err := other.gate.Mark(t.Context(), "sale")
			wantCode(t, err, rushgate.Unavailable)
			if n := other.count(redis.Forgotten); n != 0 {
				t.Fatalf("%d pictures count as forgotten", n)
			}
			command(t, c, "DEL", late)
			if m, err := other.gate.Mark(t.Context(), "sale"); err != nil || m != (rushgate.Mark{}) {
				t.Fatalf("the mark of half a picture: %+v, %v", m, err)
			}
			s.load(10)
			other.last = s.last + 1000
			other.want(rushgate.Granted, other.asks(10))
		})
	}
}
