package id_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"rushgate/id"
	"rushgate/id/idtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestMemory(t *testing.T) {
	idtest.Run(t, func(testing.TB) idtest.Register {
		m := id.NewMemory(time.Now)
		return idtest.Register{Open: func() id.Store { return m }}
	})
}

// moody is a store that can be away.
type moody struct {
	id.Store
	away atomic.Bool
}

var errAway = errors.New("the store is away")

func (m *moody) Acquire(ctx context.Context, q id.Request) (id.Lease, error) {
	if m.away.Load() {
		return id.Lease{}, errAway
	}
	return m.Store.Acquire(ctx, q)
}

func (m *moody) Renew(ctx context.Context, number int, q id.Request) (id.Lease, error) {
	if m.away.Load() {
		return id.Lease{}, errAway
	}
	return m.Store.Renew(ctx, number, q)
}

func (m *moody) Release(ctx context.Context, number int, owner string, used int64) error {
	if m.away.Load() {
		return errAway
	}
	return m.Store.Release(ctx, number, owner, used)
}

// TestALeaseIsKept while the store answers, for as long as the node lives; while it
// does not, ids go on until the window ends, and begin again by themselves.
func TestALeaseIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &moody{Store: id.NewMemory(nil)}
		var log strings.Builder
		node, err := id.Join(t.Context(), store, id.NodeConfig{Layout: at2024(8), Log: slog.New(slog.NewTextHandler(&log, nil))})
		if err != nil {
			t.Fatal(err)
		}
		mustNext := func() {
			t.Helper()
			next, err := node.Next()
			if err != nil || !at2024(8).Time(next).Equal(time.Now().Truncate(time.Millisecond)) {
				t.Fatalf("at %s: %s, %v", time.Now(), at2024(8).Time(next), err)
			}
		}
		for range 100 {
			wait(7 * time.Second)
			mustNext()
		}
		store.away.Store(true)
		for n := 0; n < 60; n++ {
			if _, err = node.Next(); err != nil {
				if n < 18 || n > 30 {
					t.Errorf("ids went on for %d s", n)
				}
				break
			}
			wait(time.Second)
		}
		if !errors.Is(err, id.ErrNoLease) || !errors.Is(err, errAway) || !errors.Is(node.Err(), errAway) {
			t.Errorf("%v; %v", err, node.Err())
		}
		store.away.Store(false)
		wait(3 * time.Second)
		mustNext()
		if node.Err() != nil {
			t.Error(node.Err())
		}
		for range 2 {
			if err := node.Close(); err != nil {
				t.Error(err)
			}
		}
		if strings.Count(log.String(), "level=WARN") != 1 || strings.Count(log.String(), "level=INFO") != 1 {
			t.Error(log.String())
		}
		if _, err := node.Next(); !errors.Is(err, id.ErrClosed) {
			t.Errorf("after Close: %v", err)
		}
		if err := node.Renew(t.Context()); !errors.Is(err, id.ErrClosed) {
			t.Errorf("after Close: %v", err)
		}
	})
}

// at2024 is a layout in which the clock of a synctest bubble, which begins in
// 2000, is not before the epoch.
func at2024(bits int) id.Layout {
	l := id.Standard(bits)
	l.EpochMs = 1
	return l
}

func wait(d time.Duration) { <-time.After(d) }

// TestASteppedClockIsNotFollowed: neither that of the node nor that of the store.
func TestASteppedClockIsNotFollowed(t *testing.T) {
	now := time.Date(2026, 11, 11, 0, 0, 0, 0, time.UTC)
	ours, theirs := now, now
	store := id.NewMemory(func() time.Time { return theirs })
	l := id.Standard(8)
	node, err := id.Join(t.Context(), store, id.NodeConfig{Layout: l, Now: func() time.Time { return ours }})
	if err != nil {
		t.Fatal(err)
	}
	defer node.Close()
	theirs = now.Add(365 * 24 * time.Hour)
	if err := node.Renew(t.Context()); !errors.Is(err, id.ErrClock) || !errors.Is(node.Err(), id.ErrClock) {
		t.Errorf("the store is a year ahead: %v", err)
	}
	if next, err := node.Next(); err != nil || !l.Time(next).Equal(now) {
		t.Errorf("%s, %v", l.Time(next), err)
	}
	if _, err := id.Join(t.Context(), store, id.NodeConfig{Layout: l, Now: func() time.Time { return ours }}); !errors.Is(err, id.ErrClock) {
		t.Errorf("joined a store that is a year ahead: %v", err)
	}
	theirs, ours = now.Add(30*time.Second), now
	if err := node.Renew(t.Context()); err != nil {
		t.Errorf("30 s apart: %v", err)
	}
	if next, err := node.Next(); err != nil || !l.Time(next).Equal(theirs) {
		t.Errorf("ids have the time %s, the store %s: %v", l.Time(next), theirs, err)
	}
	ours = time.UnixMilli(id.EpochMs - 1e9)
	early := id.NewMemory(func() time.Time { return ours })
	if _, err := id.Join(t.Context(), early, id.NodeConfig{Layout: l, Now: func() time.Time { return ours }}); !errors.Is(err, id.ErrClock) {
		t.Errorf("joined before the epoch: %v", err)
	}
}

// TestAWindowIsUsedUp by ids that run ahead of a clock that stands still: then
// there are no more, and none is outside of it.
func TestAWindowIsUsedUp(t *testing.T) {
	began := time.Date(2026, 11, 11, 0, 0, 0, 0, time.UTC)
	var passed atomic.Int64 // the node's keeper looks at the clock, too
	clock := func() time.Time { return began.Add(time.Duration(passed.Load())) }
	l := id.Standard(10)
	node, err := id.Join(t.Context(), id.NewMemory(clock), id.NodeConfig{Layout: l, TTL: id.MinTTL, Now: clock})
	if err != nil {
		t.Fatal(err)
	}
	defer node.Close()
	var last id.ID
	for n := 0; ; n++ {
		if n > 1<<22 {
			t.Fatal("more ids than a window has")
		}
		next, err := node.Next()
		if err != nil {
			if !errors.Is(err, id.ErrNoLease) || !strings.Contains(err.Error(), "ahead of the clock") || n < 200_000 || node.Ahead() < 99*time.Millisecond {
				t.Errorf("after %d ids, %s ahead: %v", n, node.Ahead(), err)
			}
			break
		}
		last = next
	}
	if at := l.Time(last); !at.Before(began.Add(id.MinTTL)) {
		t.Errorf("the last id has the time %s", at)
	}
	passed.Store(int64(time.Second))
	if err := node.Renew(t.Context()); err != nil {
		t.Fatal(err)
	}
	if next, err := node.Next(); err != nil || next <= last || node.Ahead() != 0 {
		t.Errorf("%d, %v", next, err)
	}
}

func TestWrongNodeConfigs(t *testing.T) {
	store := id.NewMemory(nil)
	for _, cfg := range []id.NodeConfig{
		{},
		{Layout: id.Standard(11)},
		{Layout: id.Standard(8), TTL: id.MinTTL - 1},
		{Layout: id.Standard(8), TTL: 2 * id.MaxTTL},
		{Layout: id.Standard(8), TTL: time.Second, Timeout: 400 * time.Millisecond},
		{Layout: id.Standard(8), Timeout: time.Millisecond},
		{Layout: id.Standard(8), MaxSkew: time.Millisecond},
		{Layout: id.Standard(8), MaxSkew: -time.Second},
		{Layout: id.Standard(8), Last: -1},
	} {
		if _, err := id.Join(t.Context(), store, cfg); err == nil {
			t.Errorf("%+v is taken", cfg)
		}
	}
	if _, err := id.Join(t.Context(), nil, id.NodeConfig{Layout: id.Standard(8)}); err == nil {
		t.Error("no store is taken")
	}
	one := id.NodeConfig{Layout: id.Standard(0)}
	a, err := id.Join(t.Context(), store, one)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := id.Join(t.Context(), store, one); !errors.Is(err, id.ErrNoNumber) {
		t.Errorf("two nodes with one number: %v", err)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	b, err := id.Join(t.Context(), store, one)
	if err != nil {
		t.Fatal("at once after Close: ", err)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
}
