package id_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"pgregory.net/rapid"

	"rushgate/id"
)

// unsure is a store as one node sees it: questions do not reach it, or their
// answers do not come back.
type unsure struct {
	id.Store
	deaf, mute bool
}

func (u *unsure) answer(l id.Lease, err error) (id.Lease, error) {
	if u.mute {
		return id.Lease{}, errAway
	}
	return l, err
}

func (u *unsure) Acquire(ctx context.Context, q id.Request) (id.Lease, error) {
	if u.deaf {
		return id.Lease{}, errAway
	}
	return u.answer(u.Store.Acquire(ctx, q))
}

func (u *unsure) Renew(ctx context.Context, number int, q id.Request) (id.Lease, error) {
	if u.deaf {
		return id.Lease{}, errAway
	}
	return u.answer(u.Store.Renew(ctx, number, q))
}

func (u *unsure) Release(ctx context.Context, number int, owner string, used int64) error {
	if u.deaf {
		return errAway
	}
	return u.Store.Release(ctx, number, owner, used)
}

// citizen is one node with a clock of its own.
type citizen struct {
	node  *id.Node
	store *unsure
	now   time.Time
	last  id.ID
}

// world is a store with two numbers, and nodes that want them.
type world struct {
	layout id.Layout
	store  id.Store
	now    time.Time // of the store
	nodes  []*citizen
	seen   map[id.ID]bool
	used   []*span
}

// span is from when to when the ids were that a node made in one window: other
// nodes made none with that number between them. Ids are so sparse that an
// overlap would hardly ever be seen in them.
type span struct {
	by         *citizen
	lease      id.Lease
	first, end int64
}

// note adds an id to the span of its window, and says whether somebody else was
// there.
func (w *world) note(c *citizen, l id.Lease, ms int64) (clash *span) {
	var mine *span
	for _, s := range w.used {
		if s.by == c && s.lease.Number == l.Number && s.lease.FromMs == l.FromMs {
			mine = s
		}
	}
	if mine == nil {
		mine = &span{by: c, lease: l, first: ms}
		w.used = append(w.used, mine)
	}
	mine.end = ms + 1
	for _, s := range w.used {
		if s.by != c && s.lease.Number == l.Number && s.first < mine.end && mine.first < s.end {
			return s
		}
	}
	return nil
}

// TestWhateverHappensIDsDiffer: clocks that go forward, back or not at all, each
// for itself, that of the store too; pauses; lost questions and answers; crashes;
// nodes that come and go.
func TestWhateverHappensIDsDiffer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &world{layout: id.Standard(1), now: time.Date(2026, 11, 11, 0, 0, 0, 0, time.UTC), seen: map[id.ID]bool{}}
		w.store = id.NewMemory(func() time.Time { return w.now })
		defer w.end()
		t.Repeat(map[string]func(*rapid.T){
			"join":  w.join,
			"draw":  w.draw,
			"pass":  w.pass,
			"step":  w.step,
			"renew": w.renew,
			"leave": w.leave,
		})
	})
}

func (w *world) join(t *rapid.T) {
	if len(w.nodes) == 4 {
		return
	}
	c := &citizen{store: &unsure{Store: w.store}, now: w.now.Add(time.Duration(rapid.Int64Range(-1e10, 1e10).Draw(t, "off")))}
	node, err := id.Join(context.Background(), c.store, id.NodeConfig{Layout: w.layout, TTL: 30 * time.Second,
		MaxSkew: 300 * 24 * time.Hour, Now: func() time.Time { return c.now }})
	if errors.Is(err, id.ErrNoNumber) {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	c.node = node
	w.nodes = append(w.nodes, c)
}

func (w *world) some(t *rapid.T) (*citizen, int) {
	if len(w.nodes) == 0 {
		return nil, 0
	}
	i := rapid.IntRange(0, len(w.nodes)-1).Draw(t, "node")
	return w.nodes[i], i
}

func (w *world) draw(t *rapid.T) {
	c, _ := w.some(t)
	if c == nil {
		return
	}
	for range rapid.IntRange(1, 200).Draw(t, "ids") {
		next, err := c.node.Next()
		if errors.Is(err, id.ErrNoLease) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		lease, ms := c.node.Lease(), w.layout.Time(next).UnixMilli()
		if w.seen[next] || next <= c.last || w.layout.Node(next) != lease.Number || ms < lease.FromMs || ms >= lease.UntilMs {
			t.Fatalf("%d of %d, after %d, seen: %v; %+v", next, ms, c.last, w.seen[next], lease)
		}
		w.seen[next], c.last = true, next
		if clash := w.note(c, lease, ms); clash != nil {
			t.Fatalf("number %d had ids of another node from %d to %d; this one made one of %d", lease.Number, clash.first, clash.end, ms)
		}
	}
}

// pass lets time pass for the store and for those nodes that are not paused.
func (w *world) pass(t *rapid.T) {
	d := time.Duration(rapid.Int64Range(0, 4e10).Draw(t, "time"))
	w.now = w.now.Add(d)
	for _, c := range w.nodes {
		if rapid.IntRange(0, 3).Draw(t, "paused") > 0 {
			c.now = c.now.Add(d)
		}
	}
}

func (w *world) step(t *rapid.T) {
	d := time.Duration(rapid.Int64Range(-1e11, 1e11).Draw(t, "step"))
	if c, _ := w.some(t); c != nil && rapid.IntRange(0, 2).Draw(t, "whose") > 0 {
		c.now = c.now.Add(d)
	} else {
		w.now = w.now.Add(d / 2)
	}
}

func (w *world) renew(t *rapid.T) {
	c, _ := w.some(t)
	if c == nil {
		return
	}
	switch rapid.IntRange(0, 3).Draw(t, "network") {
	case 0:
		c.store.deaf = true
	case 1:
		c.store.mute = true
	}
	_ = c.node.Renew(context.Background()) // what comes of it is seen in the ids
	c.store.deaf, c.store.mute = false, false
}

// leave ends a node: politely, or by a crash, after which nothing is released.
func (w *world) leave(t *rapid.T) {
	c, i := w.some(t)
	if c == nil {
		return
	}
	c.store.deaf = rapid.Bool().Draw(t, "crash")
	_ = c.node.Close()
	w.nodes = append(w.nodes[:i:i], w.nodes[i+1:]...)
}

func (w *world) end() {
	for _, c := range w.nodes {
		_ = c.node.Close()
	}
}
