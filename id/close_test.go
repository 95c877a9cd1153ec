package id_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"rushgate/id"
)

// keen is a store that remembers what it was given back.
type keen struct {
	id.Store
	mu     sync.Mutex
	usedMs int64
}

func (k *keen) Release(ctx context.Context, number int, owner string, usedMs int64) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.usedMs = usedMs
	return k.Store.Release(ctx, number, owner, usedMs)
}

// TestCloseTwiceAtOnce: the number is free from the last id on, whoever of two comes
// first.
func TestCloseTwiceAtOnce(t *testing.T) {
	for range 20_000 {
		store := &keen{Store: id.NewMemory(nil)}
		node, err := id.Join(t.Context(), store, id.NodeConfig{Layout: id.Standard(1)})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := node.Next(); err != nil {
			t.Fatal(err)
		}
		var both sync.WaitGroup
		for range 2 {
			both.Go(func() {
				if err := node.Close(); err != nil {
					t.Error(err)
				}
			})
		}
		both.Wait()
		if ahead := store.usedMs - time.Now().UnixMilli(); ahead > 1 {
			t.Fatalf("the number is used until %s from now", time.Duration(ahead)*time.Millisecond)
		}
	}
}
