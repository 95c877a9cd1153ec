package rushgate

import (
	"sync"
	"testing"
	"time"
)

// testIDs are those of the only node.
func testIDs(t *testing.T, now func() time.Time, random func() uint64, last ID) *ids {
	t.Helper()
	g, err := newIDs(&Config{Now: now, Random: random}, last, false)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// TestOrderNumbersNeverRepeat: not when the clock stands still, not when it
// goes back, not after a restart, not from many goroutines.
func TestOrderNumbersNeverRepeat(t *testing.T) {
	at := time.Date(2026, 11, 11, 0, 0, 0, 0, time.UTC)
	now := at
	var random uint64
	draw := func() uint64 { random += 0x9e3779b97f4a7c15; return random }
	g := testIDs(t, func() time.Time { return now }, draw, 0)
	last := ID(0)
	steps := []time.Duration{0, 0, time.Millisecond, -time.Hour, 0, time.Hour, 24 * time.Hour, -48 * time.Hour, 100 * 365 * 24 * time.Hour, -200 * 365 * 24 * time.Hour}
	for _, step := range steps {
		now = now.Add(step)
		for range 10_000 {
			id := g.next()
			if id <= last {
				t.Fatalf("after a step of %s: %d is not above %d", step, id, last)
			}
			last = id
		}
	}
	again := testIDs(t, func() time.Time { return at }, draw, last) // a restart, clock behind
	if id := again.next(); id <= last {
		t.Fatalf("after a restart: %d is not above %d", id, last)
	}
}

func TestIDsFromManyGoroutines(t *testing.T) {
	g := testIDs(t, time.Now, seededRandom(), 0)
	var mu sync.Mutex
	seen := map[ID]bool{}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 5_000 {
				id := g.next()
				mu.Lock()
				if seen[id] {
					t.Errorf("%d twice", id)
				}
				seen[id] = true
				mu.Unlock()
			}
		})
	}
	wg.Wait()
}

func TestAnIDTellsItsTimeAndIsNotFoundByCounting(t *testing.T) {
	at := time.Date(2026, 11, 11, 8, 30, 0, 0, time.UTC)
	g := testIDs(t, func() time.Time { return at }, seededRandom(), 0)
	first := g.next()
	if !first.Time().Equal(at) {
		t.Fatalf("id %d tells %s, want %s", first, first.Time(), at)
	}
	steps := map[ID]bool{}
	last := first
	for range 200 {
		id := g.next()
		steps[id-last] = true
		last = id
	}
	if len(steps) < 40 {
		t.Fatalf("only %d different steps in 200 ids: the next one can be guessed", len(steps))
	}
}

// TestClaimIDsHaveTheirLayout, bit by bit: those that are on disks were made so.
func TestClaimIDsHaveTheirLayout(t *testing.T) {
	const r = 0xfedcba9876543210
	at := time.Date(2026, 11, 11, 8, 30, 0, 0, time.UTC)
	ms := at.UnixMilli() - time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
	cfg := Config{Now: func() time.Time { return at }, Random: func() uint64 { return r }, Node: 0xab}
	for shared, want := range map[bool][]ID{
		false: {ID(ms<<22 | r>>44), ID(ms<<22 | r>>44 + 0x11), ID(ms<<22 | r>>44 + 0x22)},
		true:  {ID(ms<<22 | r>>52<<8 | 0xab), ID(ms<<22 | (r>>52+1)<<8 | 0xab), ID(ms<<22 | (r>>52+2)<<8 | 0xab)},
	} {
		g, err := newIDs(&cfg, 0, shared)
		if err != nil {
			t.Fatal(err)
		}
		for i := range want {
			if n := g.next(); n != want[i] {
				t.Errorf("shared: %v, id %d is %b, want %b", shared, i, n, want[i])
			}
		}
	}
}
