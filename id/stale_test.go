package id_test

import (
	"sync"
	"testing"
	"time"

	"rushgate/id"
)

// TestAWindowThatIsReplacedMeanwhile: Next may find that ids have gone on in a window
// that is newer than the one that it has looked at. It must take that one then, and
// neither its own number beyond its own window, nor say that there is no lease.
func TestAWindowThatIsReplacedMeanwhile(t *testing.T) {
	layout := id.Standard(1)
	node, err := id.Join(t.Context(), id.NewMemory(nil), id.NodeConfig{Layout: layout, TTL: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	defer node.Close()
	// Every window is of the other number, as if the node had been away for long.
	const width = int64(time.Minute / time.Millisecond)
	begin := node.Lease().UntilMs/width + 1
	adopt := func(n int64) {
		from := (begin + n) * width
		id.Adopt(node, id.Lease{Number: int((begin + n) % 2), FromMs: from, UntilMs: from + width, NowMs: from})
	}
	adopt(0)
	var all sync.WaitGroup
	done := make(chan struct{})
	for range 4 {
		all.Go(func() {
			for last := id.ID(0); ; {
				select {
				case <-done:
					return
				default:
				}
				next, err := node.Next()
				if err != nil {
					t.Error(err)
					return
				}
				number := int(layout.Time(next).UnixMilli() / width % 2)
				if next <= last || layout.Node(next) != number {
					t.Errorf("%d is of number %d, in a window of number %d, after %d", next, layout.Node(next), number, last)
					return
				}
				last = next
			}
		})
	}
	for n := range int64(1_000_000) {
		adopt(n)
	}
	close(done)
	all.Wait()
}
