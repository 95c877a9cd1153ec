package app

import (
	"runtime"
	"runtime/debug"
	"testing"
)

func TestHeadroomShrinksAsTheHeapGrows(t *testing.T) {
	for _, c := range []struct {
		live uint64
		want int
	}{{0, 1600}, {1 << 20, 1600}, {16 << 20, 400}, {64 << 20, 100}, {128 << 20, 50}, {10 << 30, 50}} {
		if got := headroomPercent(c.live); got != c.want {
			t.Errorf("%d MiB live: %d %%, want %d", c.live>>20, got, c.want)
		}
	}
}

// TestEveryCollectionSetsTheNextOne: with a heap of 200 MiB, a collection must
// bring the head room down to half.
func TestEveryCollectionSetsTheNextOne(t *testing.T) {
	t.Setenv("GOGC", "")
	before := debug.SetGCPercent(100)
	t.Cleanup(func() { debug.SetGCPercent(before) })
	TuneMemory()
	heap := make([]byte, 200<<20)
	for percent := 0; percent != 50; percent = debug.SetGCPercent(100) { // until its finalizer has run
		runtime.GC()
		runtime.Gosched()
	}
	runtime.KeepAlive(heap)
}
