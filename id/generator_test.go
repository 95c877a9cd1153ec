package id

import (
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var singlesDay = time.Date(2026, 11, 11, 8, 30, 0, 0, time.UTC)

// TestIDsGrowWhateverTheClockDoes, and tell time and node: the time is not before
// that of the clock, and exactly that after a step forward.
func TestIDsGrowWhateverTheClockDoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := Standard(rapid.IntRange(0, MaxNodeBits).Draw(t, "node bits"))
		node := rapid.IntRange(0, l.Nodes()-1).Draw(t, "node")
		now := singlesDay
		g, err := New(Config{Layout: l, Node: node, Now: func() time.Time { return now }})
		if err != nil {
			t.Fatal(err)
		}
		last, latest := ID(0), time.Time{}
		for range rapid.IntRange(1, 30).Draw(t, "rounds") {
			switch rapid.IntRange(0, 3).Draw(t, "clock") {
			case 0: // stands still
			case 1:
				now = now.Add(time.Duration(rapid.Int64Range(1, 1e10).Draw(t, "forward")))
			case 2:
				now = now.Add(-time.Duration(rapid.Int64Range(1, 1e10).Draw(t, "back")))
			case 3:
				now = now.Add(time.Millisecond)
			}
			for range rapid.IntRange(1, 1000).Draw(t, "ids") {
				id := g.Next()
				if id <= last || l.Node(id) != node {
					t.Fatalf("%d of node %d after %d of node %d", id, l.Node(id), last, node)
				}
				if at := l.Time(id); at.Before(now.Truncate(time.Millisecond)) || now.Truncate(time.Millisecond).After(latest) && !at.Equal(now.Truncate(time.Millisecond)) {
					t.Fatalf("%d tells %s, the clock %s", id, at, now)
				}
				last, latest = id, l.Time(id)
			}
		}
	})
}

// TestManyGoroutinesAndManyNodesShareNothing, also while the clock stands still,
// and two who took the same number for the last one would often make the same.
func TestManyGoroutinesAndManyNodesShareNothing(t *testing.T) {
	l := Standard(10)
	clocks := []func() time.Time{time.Now, func() time.Time { return singlesDay }}
	made := make([][]ID, 8)
	var wg sync.WaitGroup
	for node, now := range clocks {
		g, err := New(Config{Layout: l, Node: node, Now: now})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 4 {
			wg.Go(func() {
				for range 60_000 {
					made[4*node+i] = append(made[4*node+i], g.Next())
				}
			})
		}
	}
	wg.Wait()
	for _, ids := range made {
		if !slices.IsSorted(ids) {
			t.Error("the ids of a goroutine do not grow")
		}
	}
	all := slices.Concat(made...)
	slices.Sort(all)
	if n := len(slices.Compact(all)); n != 480_000 {
		t.Errorf("%d different ids of 480000", n)
	}
}

// TestTheNextIDIsNotFoundByCounting: whoever sees an id and adds 1, or any other
// number, has the next one no more often than the package comment says.
func TestTheNextIDIsNotFoundByCounting(t *testing.T) {
	for _, bits := range []int{0, 4, 8, 9, 10} {
		l := Standard(bits)
		now := singlesDay
		g, err := New(Config{Layout: l, Now: func() time.Time { return now }})
		if err != nil {
			t.Fatal(err)
		}
		second, later, seeds := map[ID]int{}, map[ID]int{}, map[ID]bool{}
		const rounds = 200
		for range rounds {
			now = now.Add(time.Millisecond)
			first := g.Next()
			seeds[first&(1<<lowBits-1)] = true
			last := g.Next()
			second[last-first]++
			for range min(l.PerMillisecond()/2, 1<<(l.StartBits-l.StepBits)) {
				last = g.Next()
			}
			later[g.Next()-last]++
		}
		// Of 200 draws from 2^b equally likely ones, none comes up as often as
		// here but once in millions of runs.
		often := func(b int) int {
			mean := rounds / math.Exp2(float64(b))
			return int(mean + 6*math.Sqrt(mean) + 6)
		}
		check := func(what string, steps map[ID]int, b int) {
			for step, times := range steps {
				if times > often(b) || step&ID(l.Nodes()-1) != 0 {
					t.Errorf("%d bits of nodes: %s was a step of %d %d times of %d, expected about 1 in 2^%d", bits, what, step, times, rounds, b)
				}
			}
		}
		check("the second id of a millisecond", second, l.StartBits)
		check("an id in a rush", later, l.StepBits)
		if min := rounds - often(l.seedBits())*rounds/20; len(seeds) < min && len(seeds) < rounds/2 {
			t.Errorf("%d bits of nodes: only %d beginnings in %d milliseconds", bits, len(seeds), rounds)
		}
	}
}

// TestTwoMillionASecond, evenly, do not run ahead of the clock: 2000 in a
// millisecond end within it.
func TestTwoMillionASecond(t *testing.T) {
	for bits := range MaxNodeBits { // 10 bits have room for 2000 but for rare milliseconds
		l := Standard(bits)
		now := singlesDay
		g, err := New(Config{Layout: l, Now: func() time.Time { return now }})
		if err != nil {
			t.Fatal(err)
		}
		for range 60 {
			now = now.Add(time.Millisecond)
			for range 2000 {
				if id := g.Next(); !l.Time(id).Equal(now) {
					t.Fatalf("%d bits of nodes: an id runs ahead", bits)
				}
			}
		}
		if n := l.PerMillisecond(); n < 3700 {
			t.Errorf("%d bits of nodes: %d in a millisecond", bits, n)
		}
	}
}

func TestAfterTheLastIDThereIsNone(t *testing.T) {
	l := Standard(8)
	g, err := New(Config{Layout: l, Last: math.MaxInt64 - 1<<12})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if said, _ := recover().(string); !strings.Contains(said, "used up") {
			t.Errorf("said %q", said)
		}
	}()
	for range 1 << 12 {
		if id := g.Next(); id < 0 {
			t.Fatalf("made %d", id)
		}
	}
	t.Error("never ended")
}

func TestWrongConfigs(t *testing.T) {
	for _, c := range []struct {
		cfg Config
		say string
	}{
		{Config{}, "could be found by counting"},
		{Config{Layout: Standard(11)}, "bits for the node"},
		{Config{Layout: Standard(-1)}, "bits for the node"},
		{Config{Layout: Layout{NodeBits: 8, StepBits: 4, StartBits: 3}}, "first steps"},
		{Config{Layout: Layout{NodeBits: 8, StepBits: 4, StartBits: 13}}, "first steps"},
		{Config{Layout: Layout{EpochMs: -1, StepBits: 1, StartBits: 1}}, "epoch"},
		{Config{Layout: Standard(8), Node: 256}, "node 256"},
		{Config{Layout: Standard(8), Node: -1}, "node -1"},
		{Config{Layout: Standard(8), Last: -1}, "last id -1"},
	} {
		if _, err := New(c.cfg); err == nil || !strings.Contains(err.Error(), c.say) {
			t.Errorf("%+v: %v, want something about %q", c.cfg, err, c.say)
		}
	}
}

func TestLeast(t *testing.T) {
	l := Standard(8)
	g, err := New(Config{Layout: l, Node: 7, Now: func() time.Time { return singlesDay }})
	if err != nil {
		t.Fatal(err)
	}
	id := g.Next()
	if l.Least(singlesDay) > id || l.Least(singlesDay.Add(time.Millisecond)) <= id {
		t.Errorf("%d is not between the bounds of its millisecond", id)
	}
	if l.Least(time.UnixMilli(0)) != 0 || l.Least(time.UnixMilli(1<<43)) < 0 {
		t.Error("times out of range have no bound")
	}
}
