package oncetest

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"rushgate/once"
)

func testMarks(t *testing.T, f Factory) {
	stores := f.New(t, 3)
	t.Run("model", func(t *testing.T) { t.Parallel(); marksModel(t, f, stores) })
	t.Run("crowd", func(t *testing.T) { t.Parallel(); marksCrowd(t, f, stores) })
	t.Run("tags", func(t *testing.T) { t.Parallel(); marksTags(t, f, stores) })
	t.Run("many", func(t *testing.T) { t.Parallel(); marksMany(t, f, stores) })
}

func marksOf(tb testing.TB, s once.MarkStore) *once.Marks {
	tb.Helper()
	m, err := once.NewMarks(s)
	must(tb, err)
	return m
}

// marksModel plays random calls on any node and in a map.
func marksModel(t *testing.T, f Factory, stores []Backend) {
	var plays atomic.Int64
	rapid.Check(t, func(r *rapid.T) {
		sets := []string{fmt.Sprintf("m%d", plays.Add(1)), fmt.Sprintf("m%d {x}", plays.Load())}
		model := map[string]map[string]bool{sets[0]: {}, sets[1]: {}}
		ctx := t.Context()
		for range rapid.IntRange(1, 12).Draw(r, "calls") {
			m := marksOf(t, stores[rapid.IntRange(0, len(stores)-1).Draw(r, "node")])
			set := rapid.SampledFrom(sets).Draw(r, "set")
			var members []string
			for _, i := range rapid.SliceOfN(rapid.IntRange(0, 17), 1, 8).Draw(r, "members") {
				members = append(members, f.Member(i))
			}
			in := model[set]
			var got, want []bool
			var err error
			switch call := rapid.SampledFrom([]string{"first", "first", "first", "undo", "has", "forget"}).Draw(r, "call"); call {
			case "first":
				got, err = m.FirstEach(ctx, set, members)
				for _, name := range members {
					want = append(want, !in[name])
					in[name] = true
				}
			case "undo":
				got, err = m.UndoEach(ctx, set, members)
				for _, name := range members {
					want = append(want, in[name])
					delete(in, name)
				}
			case "has":
				got, err = m.HasEach(ctx, set, members)
				for _, name := range members {
					want = append(want, in[name])
				}
			case "forget":
				err = m.Forget(ctx, set)
				clear(in)
			}
			if err != nil || !cmp.Equal(got, want) {
				r.Fatalf("got %v, %v; want %v", got, err, want)
			}
			if n, err := m.Count(ctx, set); err != nil || n != int64(len(in)) {
				r.Fatalf("count: %d, %v; want %d", n, err, len(in))
			}
		}
	})
}

// marksCrowd: many ask for the same members at once, in batches that overlap and
// in any order; each member is first for one of them.
func marksCrowd(t *testing.T, f Factory, stores []Backend) {
	const members, callers = 60, 12
	var all sync.WaitGroup
	var first [members]atomic.Int64
	for c := range callers {
		m := marksOf(t, stores[c%len(stores)])
		all.Go(func() {
			for i := 0; i < members; i += 10 {
				var batch []string
				var who []int
				for j := range 10 {
					n := (i + j*(c+1) + c*7) % members
					batch, who = append(batch, f.Member(n)), append(who, n)
				}
				got, err := m.FirstEach(t.Context(), "crowd", batch)
				if err != nil {
					t.Error(err)
					return
				}
				for j, yes := range got {
					if yes {
						first[who[j]].Add(1)
					}
				}
			}
			for n := range members {
				yes, err := m.First(t.Context(), "crowd", f.Member(n))
				if err != nil {
					t.Error(err)
				}
				if yes {
					first[n].Add(1)
				}
			}
		})
	}
	all.Wait()
	for n := range first {
		if got := first[n].Load(); got != 1 {
			t.Errorf("%q was first %d times", f.Member(n), got)
		}
	}
}

// marksTags: a message is delivered again after a crash, and goes on.
func marksTags(t *testing.T, f Factory, stores []Backend) {
	ctx := t.Context()
	if f.Tagless {
		_, err := marksOf(t, stores[0]).FirstBy(ctx, "tags", f.Member(0), "message-1")
		wantError(t, err, once.ErrUnsupported)
		return
	}
	for i, c := range []struct {
		tag  string
		want bool
	}{{"message-1", true}, {"message-1", true}, {"message-2", false}, {"message-1", true}} {
		got, err := marksOf(t, stores[i%len(stores)]).FirstBy(ctx, "tags", f.Member(0), c.tag)
		if err != nil || got != c.want {
			t.Errorf("call %d by %s: %v, %v", i, c.tag, got, err)
		}
	}
	if got, err := marksOf(t, stores[0]).First(ctx, "tags", f.Member(0)); err != nil || got {
		t.Errorf("without a tag: %v, %v", got, err)
	}
}

// marksMany: the largest call that there may be.
func marksMany(t *testing.T, f Factory, stores []Backend) {
	ctx, m := t.Context(), marksOf(t, stores[0])
	members := make([]string, once.MaxMembers)
	for i := range members {
		members[i] = f.Member(i)
	}
	for _, want := range []bool{true, false} {
		got, err := m.FirstEach(ctx, "many", members)
		must(t, err)
		for i := range got {
			if got[i] != want {
				t.Fatalf("%q: %v", members[i], got[i])
			}
		}
	}
	if n, err := m.Count(ctx, "many"); err != nil || n != once.MaxMembers {
		t.Errorf("count: %d, %v", n, err)
	}
	_, err := m.FirstEach(ctx, "many", append(members, "one more"))
	wantError(t, err, once.ErrName)
	_, err = m.FirstEach(ctx, "many", nil)
	wantError(t, err, once.ErrName)
	_, err = m.First(ctx, "", f.Member(0))
	wantError(t, err, once.ErrName)
}
