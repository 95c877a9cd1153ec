package id

import (
	"bytes"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestUUIDsAsTheRFCHasThem: the example of RFC 9562, appendix A.6.
func TestUUIDsAsTheRFCHasThem(t *testing.T) {
	u, err := ParseUUID("017F22E2-79B0-7CC3-98C4-DC0C0C07398F")
	if err != nil {
		t.Fatal(err)
	}
	at, ok := u.Time()
	if want := time.Date(2022, 2, 22, 19, 22, 22, 0, time.UTC); !ok || !at.Equal(want) || u.Version() != 7 {
		t.Errorf("version %d of %s", u.Version(), at)
	}
	if u, _ := ParseUUID("c232ab00-9414-11ec-b3c8-9f6bdeced846"); u.Version() != 1 {
		t.Errorf("version %d", u.Version())
	} else if _, ok := u.Time(); ok {
		t.Error("a UUID of version 1 has no time in milliseconds")
	}
}

func TestUUIDsGrowWhateverTheClockDoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := singlesDay
		g := NewUUIDs(func() time.Time { return now })
		var last UUID
		for range rapid.IntRange(1, 30).Draw(t, "rounds") {
			now = now.Add(time.Duration(rapid.Int64Range(-1e9, 1e9).Draw(t, "step")))
			if rapid.IntRange(0, 9).Draw(t, "full") == 0 {
				g.high, g.low = 1<<12-1, 1<<62-1 // the last one of a millisecond
			}
			for range rapid.IntRange(1, 50).Draw(t, "uuids") {
				u := g.Next()
				at, ok := u.Time()
				if bytes.Compare(u[:], last[:]) <= 0 || !ok || at.Before(now.Truncate(time.Millisecond)) {
					t.Fatalf("%s of %s after %s, at %s", u, at, last, now)
				}
				last = u
			}
		}
	})
}

func TestUUIDsBeforeTheirTime(t *testing.T) {
	g := NewUUIDs(func() time.Time { return time.UnixMilli(-5) })
	a, b := g.Next(), g.Next()
	if at, ok := a.Time(); !ok || at.UnixMilli() != 0 || bytes.Compare(a[:], b[:]) >= 0 {
		t.Errorf("%s, %s", a, b)
	}
}

func TestUUIDsFromManyGoroutines(t *testing.T) {
	g := NewUUIDs(nil)
	var mu sync.Mutex
	seen := map[UUID]bool{}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 10_000 {
				u := g.Next()
				mu.Lock()
				seen[u] = true
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if len(seen) != 40_000 {
		t.Errorf("%d different ones of 40000", len(seen))
	}
}

// TestTheNextUUIDIsNotFoundByCounting: steps are random in 32 bits.
func TestTheNextUUIDIsNotFoundByCounting(t *testing.T) {
	g := NewUUIDs(func() time.Time { return singlesDay })
	steps := map[uint64]bool{}
	g.Next()
	for last := g.low; len(steps) < 1000; last = g.low {
		g.Next()
		if step := (g.low - last) & (1<<62 - 1); steps[step] || step == 0 || step > 1<<32 {
			t.Fatalf("a step of %d after %d others", step, len(steps))
		} else {
			steps[step] = true
		}
	}
}
