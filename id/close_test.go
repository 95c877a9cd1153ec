package id_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"rushgate/id"
)

// slow is a store that takes its time to hear of a number that is given back.
type slow struct {
	id.Store
	heard  chan struct{}
	usedMs []int64
}

func (s *slow) Release(ctx context.Context, number int, owner string, usedMs int64) error {
	s.usedMs = append(s.usedMs, usedMs)
	<-s.heard
	return s.Store.Release(ctx, number, owner, usedMs)
}

// TestCloseTwiceAtOnce: the number is given back once, from the last id on, and
// neither of two is told that it was before that has happened.
func TestCloseTwiceAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &slow{Store: id.NewMemory(nil), heard: make(chan struct{})}
		node, err := id.Join(t.Context(), store, id.NodeConfig{Layout: at2024(1)})
		if err != nil {
			t.Fatal(err)
		}
		next, err := node.Next()
		if err != nil {
			t.Fatal(err)
		}
		over := make(chan error, 2)
		for range 2 {
			go func() { over <- node.Close() }()
		}
		synctest.Wait()
		if len(over) > 0 {
			t.Error("closed, and the store has not heard of it")
		}
		close(store.heard)
		for range 2 {
			if err := <-over; err != nil {
				t.Error(err)
			}
		}
		if want := at2024(1).Time(next).Add(time.Millisecond).UnixMilli(); len(store.usedMs) != 1 || store.usedMs[0] != want {
			t.Errorf("the number is used until %v; want %d, once", store.usedMs, want)
		}
	})
}
