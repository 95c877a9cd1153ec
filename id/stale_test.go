package id_test

import (
	"errors"
	"testing"
	"time"

	"rushgate/id"
)

// TestAWindowThatIsReplacedMeanwhile: Next may find that ids have gone on in a window
// that is newer than the one that it has looked at. It must take that one then, and
// neither its own number beyond its own window, nor say that there is no lease.
func TestAWindowThatIsReplacedMeanwhile(t *testing.T) {
	now := time.UnixMilli(2_000_000_000_000)
	layout, began := id.Standard(1), now.UnixMilli()
	for name, c := range map[string]struct {
		passes time.Duration // by the node's clock, before the window is replaced
		used   bool          // somebody has made an id in the new window
		number int           // that the id must have: each window has its own
	}{
		"nothing was made in the new one":           {number: 0},
		"ids have gone on in the new one":           {used: true, number: 1},
		"its own one is over":                       {passes: 2 * time.Minute, number: 1},
		"its own one is over, and ids have gone on": {passes: 2 * time.Minute, used: true, number: 1},
	} {
		t.Run(name, func(t *testing.T) {
			clock := now
			tells := func() time.Time { return clock }
			node, err := id.Join(t.Context(), id.NewMemory(tells), id.NodeConfig{Layout: layout, Now: tells})
			if err != nil {
				t.Fatal(err)
			}
			defer node.Close()
			window := func(number int, from int64) id.Lease {
				return id.Lease{Number: number, FromMs: from, UntilMs: from + time.Minute.Milliseconds(), NowMs: from}
			}
			id.Adopt(node, window(0, began))
			var last id.ID
			if last, err = node.Next(); err != nil || layout.Node(last) != 0 {
				t.Fatal(last, err)
			}
			next, err := id.NextIn(node, func() {
				clock = clock.Add(c.passes)
				id.Adopt(node, window(1, began+2*time.Minute.Milliseconds()))
				if c.used {
					if last, err = node.Next(); err != nil || layout.Node(last) != 1 {
						t.Fatal(last, err)
					}
				}
			})
			in := int(layout.Time(next).Sub(now) / (2 * time.Minute)) // the window of its time
			if err != nil || next <= last || layout.Node(next) != c.number || in != c.number {
				t.Errorf("%d of number %d at %s, after %d: %v", next, layout.Node(next), layout.Time(next), last, err)
			}
		})
	}
}

// TestANodeThatIsClosedMeanwhile says so, whatever window it has looked at.
func TestANodeThatIsClosedMeanwhile(t *testing.T) {
	node, err := id.Join(t.Context(), id.NewMemory(nil), id.NodeConfig{Layout: id.Standard(1)})
	if err != nil {
		t.Fatal(err)
	}
	next, err := id.NextIn(node, func() {
		if err := node.Close(); err != nil {
			t.Error(err)
		}
	})
	if !errors.Is(err, id.ErrClosed) {
		t.Errorf("%d, %v", next, err)
	}
}
