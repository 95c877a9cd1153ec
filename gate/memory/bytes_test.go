package memory_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"rushgate"
	"rushgate/gate/memory"
)

// mostBytes is what one remembered user may cost.
const mostBytes = 120

// A million is just above a size at which Go's maps have doubled, so this is
// close to the most that a user ever costs; 10 million cost less each.
func TestBytesPerUser(t *testing.T) {
	for _, limit := range []int64{0, 1} {
		got := bytesPerUser(t, 1_000_000, limit, false)
		t.Logf("limit %d: %.1f bytes per user", limit, got)
		if got > mostBytes {
			t.Errorf("limit %d: %.1f bytes per user, at most %d wanted", limit, got, mostBytes)
		}
	}
}

// BenchmarkMemoryPerUser remembers 10 million users, once, however often it is
// told to: run it with -benchtime=1x.
func BenchmarkMemoryPerUser(b *testing.B) {
	for _, keyed := range []bool{false, true} {
		b.Run(fmt.Sprintf("keys=%t", keyed), func(b *testing.B) {
			for b.Loop() {
				b.ReportMetric(bytesPerUser(b, 10_000_000, 1, keyed), "bytes/user")
			}
		})
	}
}

// bytesPerUser has users claim one unit each in batches that are settled, and
// returns what the heap grew by, garbage collected, for each of them.
func bytesPerUser(tb testing.TB, users int, limit int64, keyed bool) float64 {
	tb.Helper()
	before := heap()
	g := memory.New()
	snap := rushgate.Snapshot{
		Sale:   &rushgate.Sale{ID: "sale", PerUser: limit},
		Stock:  []rushgate.Stock{{Item: "a", Total: int64(users)}},
		Claims: func(func(rushgate.Claim, error) bool) {},
	}
	if err := g.Load(tb.Context(), snap); err != nil {
		tb.Fatal(err)
	}
	asks, out, claims := make([]rushgate.Ask, 1000), make([]rushgate.Decision, 1000), make([]rushgate.Claim, 1000)
	for done := 0; done < users; done += len(asks) {
		for i := range asks {
			n := done + i
			asks[i] = rushgate.Ask{ID: rushgate.ID(n + 1), Sale: "sale", Item: "a", User: fmt.Sprint("user-", n), Quantity: 1}
			claims[i] = rushgate.Claim{ID: asks[i].ID, Sale: "sale"}
			if keyed {
				asks[i].Key = asks[i].User
			}
		}
		if err := g.Claim(tb.Context(), time.Time{}, asks, out); err != nil || out[len(out)-1].Code != rushgate.Granted {
			tb.Fatalf("%v, %+v", err, out[len(out)-1])
		}
		if err := g.Settle(tb.Context(), claims); err != nil {
			tb.Fatal(err)
		}
	}
	grown := heap() - before
	runtime.KeepAlive(g)
	return float64(grown) / float64(users)
}

func heap() uint64 {
	runtime.GC()
	runtime.GC() // what finalizers and pools held is gone only now
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
