package once_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"rushgate/once"
	"rushgate/once/oncetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func memory(tb testing.TB, c once.MemoryConfig) *once.Memory {
	tb.Helper()
	m, err := once.NewMemory(c)
	if err != nil {
		tb.Fatal(err)
	}
	return m
}

// TestMemory: the nodes are as many callers of one process.
func TestMemory(t *testing.T) {
	oncetest.Run(t, oncetest.Factory{New: func(tb testing.TB, n int) []oncetest.Backend {
		m := memory(tb, once.MemoryConfig{})
		nodes := make([]oncetest.Backend, n)
		for i := range nodes {
			nodes[i] = m
		}
		return nodes
	}})
}

// TestAFullMemory has room for as many new keys as have expired, whichever those are,
// and finds them among all that have not.
func TestAFullMemory(t *testing.T) {
	const kept, passing = 20_000, 100
	synctest.Test(t, func(t *testing.T) {
		m := memory(t, once.MemoryConfig{Records: kept + passing})
		begin := func(key string) error {
			_, err := m.Begin(t.Context(), once.Claim{Key: key, Owner: key, Lease: time.Minute})
			return err
		}
		end := func(key string, keep time.Duration) {
			t.Helper()
			if held, err := m.End(t.Context(), key, key, once.Outcome{Phase: once.Done, Keep: keep}); err != nil || !held {
				t.Fatal(key, held, err)
			}
		}
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		for i := range kept {
			key := fmt.Sprint("kept-", i)
			must(begin(key))
			end(key, []time.Duration{once.Forever, time.Hour}[i%2])
		}
		for i := range passing { // the last one goes first
			key := fmt.Sprint("passing-", i)
			must(begin(key))
			end(key, time.Duration(passing-i)*time.Second)
		}
		for i := range 5 * passing {
			key := fmt.Sprint("new-", i)
			if err := begin(key); !errors.Is(err, once.ErrFull) {
				t.Fatalf("%s, before anything has expired: %v", key, err)
			}
			<-time.After(time.Second)
			must(begin(key))
			end(key, passing*time.Second)
		}
	})
}

// TestARenewedLeaseIsNotForgotten, when the store is full and needs room.
func TestARenewedLeaseIsNotForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memory(t, once.MemoryConfig{Records: 2})
		for _, key := range []string{"renewed", "dead"} {
			if _, err := m.Begin(t.Context(), once.Claim{Key: key, Owner: key, Lease: time.Minute}); err != nil {
				t.Fatal(err)
			}
		}
		<-time.After(time.Second)
		if held, err := m.Renew(t.Context(), "renewed", "renewed", time.Hour); err != nil || !held {
			t.Fatal(held, err)
		}
		<-time.After(once.Idle + time.Minute - time.Second)
		for _, c := range []struct {
			key  string
			want error
		}{{"new", nil}, {"newer", once.ErrFull}} {
			if _, err := m.Begin(t.Context(), once.Claim{Key: c.key, Owner: c.key, Lease: time.Minute}); !errors.Is(err, c.want) {
				t.Errorf("%s: %v, want %v", c.key, err, c.want)
			}
		}
		if held, err := m.End(t.Context(), "renewed", "renewed", once.Outcome{Phase: once.Done, Keep: time.Hour}); err != nil || !held {
			t.Error(held, err)
		}
	})
}

// TestSetsThatExpireMakeRoom, those first that were marked in last longest ago.
func TestSetsThatExpireMakeRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memory(t, once.MemoryConfig{Members: 4, KeepMarks: time.Minute})
		marks, err := once.NewMarks(m)
		if err != nil {
			t.Fatal(err)
		}
		for i, c := range []struct {
			after       time.Duration
			set, member string
			want        error
			first       bool
		}{{10, "a", "1", nil, true}, {10, "b", "1", nil, true}, {10, "c", "1", nil, true}, {10, "a", "2", nil, true},
			{0, "b", "1", nil, false}, {0, "d", "1", once.ErrFull, false},
			{45, "d", "1", nil, true}, {0, "a", "3", once.ErrFull, false}, // b has expired
			{8, "e", "1", nil, true}} { // and c
			<-time.After(c.after * time.Second)
			if first, err := marks.First(t.Context(), c.set, c.member); !errors.Is(err, c.want) || first != c.first {
				t.Errorf("%d, %s in %s: %v, %v; want %v", i, c.member, c.set, first, err, c.want)
			}
		}
		for set, want := range map[string]int64{"a": 2, "b": 0, "c": 0, "d": 1, "e": 1} {
			if n, err := marks.Count(t.Context(), set); err != nil || n != want {
				t.Errorf("%s has %d, %v; want %d", set, n, err, want)
			}
		}
	})
}
