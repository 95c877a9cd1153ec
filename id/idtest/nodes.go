package idtest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"rushgate/id"
)

// nodes make a million ids, coming, renewing and going all the time. All are different, and each node's grow.
func nodes(t *testing.T, r Register) {
	const places, lives, each = 8, 4, 32_000
	layout := id.Standard(3)
	made := make([][]id.ID, places)
	var wg sync.WaitGroup
	for place := range places {
		wg.Go(func() {
			s := r.Open()
			for range lives {
				ids, err := life(t, s, layout, each)
				if err != nil {
					t.Error(err)
					return
				}
				if !slices.IsSorted(ids) {
					t.Error("the ids of a node do not grow")
				}
				made[place] = append(made[place], ids...)
			}
		})
	}
	wg.Wait()
	distinct(t, made, places*lives*each)
}

func distinct(t *testing.T, made [][]id.ID, want int) {
	t.Helper()
	all := slices.Concat(made...)
	slices.Sort(all)
	if n := len(slices.Compact(all)); n != want || len(all) != want {
		t.Errorf("%d ids, %d of them different; want %d", len(all), n, want)
	}
}

// life is that of one node: it joins, makes ids, and leaves.
func life(t *testing.T, s id.Store, layout id.Layout, n int) (ids []id.ID, err error) {
	node, err := id.Join(t.Context(), s, id.NodeConfig{Layout: layout, TTL: time.Minute, Timeout: 20 * time.Second}) // the machine may be busy
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, node.Close()) }()
	for len(ids) < n {
		if len(ids) == n/2 {
			if err := node.Renew(t.Context()); err != nil {
				return ids, err
			}
		}
		next, err := node.Next()
		if err != nil {
			return ids, err
		}
		if layout.Node(next) != node.Lease().Number {
			return ids, errors.New("an id of another node's number")
		}
		ids = append(ids, next)
	}
	return ids, nil
}

// pausing is a store that a node does not reach while it is paused.
type pausing struct {
	id.Store
	paused atomic.Bool
}

var errPaused = errors.New("paused")

func (p *pausing) Renew(ctx context.Context, number int, q id.Request) (id.Lease, error) {
	if p.paused.Load() {
		return id.Lease{}, errPaused
	}
	return p.Store.Renew(ctx, number, q)
}

// pause: a node stands still for longer than its lease, another one gets its
// number, and the first one wakes up in the middle of making an id. Its clock is
// what it had read before; then it jumps by an hour.
func pause(t *testing.T, r Register) {
	var offset atomic.Int64
	start := time.Now()
	store := &pausing{Store: r.Open()}
	cfg := id.NodeConfig{Layout: id.Standard(0), TTL: time.Minute, Timeout: 20 * time.Second, MaxSkew: 24 * time.Hour} // the machine may be busy
	paused := cfg
	paused.TTL, paused.Timeout = 4500*time.Millisecond, 1500*time.Millisecond // its end is waited for
	paused.Now = func() time.Time { return start.Add(time.Duration(offset.Load())) }
	a := joinSoon(t, store, paused)
	defer a.Close()
	made := [][]id.ID{draw(t, a, 1000)}
	store.paused.Store(true)

	b := joinSoon(t, r.Open(), cfg)
	made = append(made, draw(t, b, 1000))
	if b.Lease().Number != a.Lease().Number {
		t.Fatalf("the other one has number %d", b.Lease().Number)
	}
	// Its clock has stood still, so it takes the lease for good; its ids are in
	// its own window all the same.
	made = append(made, draw(t, a, 1000))
	offset.Store(int64(time.Hour))
	if next, err := a.Next(); !errors.Is(err, id.ErrNoLease) {
		t.Errorf("an hour later: %d, %v", next, err)
	}
	offset.Store(-int64(time.Hour))
	made = append(made, draw(t, a, 1000))

	if last, from := slices.Max(made[3]), cfg.Layout.Least(time.UnixMilli(b.Lease().FromMs)); last >= from {
		t.Errorf("it made %d, and the other's window began with %d", last, from)
	}

	store.paused.Store(false)
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	offset.Store(0)
	for err := a.Renew(t.Context()); err != nil; err = a.Renew(t.Context()) {
		if !errors.Is(err, context.DeadlineExceeded) { // the store is busy
			t.Fatal(err)
		}
	}
	made = append(made, draw(t, a, 1000))
	distinct(t, made, 5000)
}

// joinSoon joins as soon as a number is free, and the store has time.
func joinSoon(t *testing.T, s id.Store, cfg id.NodeConfig) *id.Node {
	t.Helper()
	for ; ; <-time.After(pollEvery) {
		n, err := id.Join(t.Context(), s, cfg)
		if err == nil {
			return n
		}
		if !errors.Is(err, id.ErrNoNumber) && !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
	}
}

func draw(t *testing.T, n *id.Node, times int) (ids []id.ID) {
	t.Helper()
	for range times {
		next, err := n.Next()
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, next)
	}
	return ids
}
