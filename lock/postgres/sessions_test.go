package postgres_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"rushgate/lock"
	"rushgate/lock/postgres"
)

func on(key, owner string, line int) lock.Claim {
	return lock.Claim{Key: key, Owner: owner, Token: "node." + owner, Need: lock.MaxPermits, Limit: lock.MaxPermits, Lease: lock.MaxLease, Line: line}
}

// Fences and places grow from one session to the other and back, not only within each.
func TestSessionsTakeNumbersInTurn(t *testing.T) {
	url := server.Server(t).NewDatabase(t)
	one := backend(t, pool(t, url), postgres.Options{})
	other := backend(t, pool(t, url), postgres.Options{})
	var last uint64
	for i := range 4 {
		b := []lock.Backend{one, other}[i%2]
		a := b.Acquire(t.Context(), on("k", "a", 0))
		if a.State != lock.Granted || a.Fence <= last {
			t.Fatalf("%+v after a fence of %d", a, last)
		}
		last = a.Fence
		b.Release(t.Context(), []lock.Claim{on("k", "a", 0)})
	}
	if a := one.Acquire(t.Context(), on("k", "holder", 0)); a.State != lock.Granted {
		t.Fatal(a)
	}
	for i := range 4 {
		a := []lock.Backend{one, other}[i%2].Acquire(t.Context(), on("k", fmt.Sprint("w", i), 10))
		if a.State != lock.Waiting || a.Ahead != i {
			t.Fatalf("%+v for number %d in the line", a, i)
		}
	}
}

// Batches with the same keys, each in another order, do not wait for each other.
func TestBatchesThatCross(t *testing.T) {
	b := backend(t, pool(t, server.Server(t).NewDatabase(t)), postgres.Options{})
	var there, back []lock.Claim
	for i := range 64 {
		c := on(fmt.Sprint("k", i), "a", 0)
		if a := b.Acquire(t.Context(), c); a.State != lock.Granted {
			t.Fatal(a)
		}
		there = append(there, c)
	}
	back = slices.Clone(there)
	slices.Reverse(back)
	for name, call := range map[string]func([]lock.Claim) []lock.Answer{
		"renew":   func(those []lock.Claim) []lock.Answer { return b.Renew(t.Context(), those) },
		"release": func(those []lock.Claim) []lock.Answer { return b.Release(t.Context(), those) },
	} {
		var both sync.WaitGroup
		for _, those := range [][]lock.Claim{there, back} {
			both.Go(func() {
				for range 20 {
					for _, a := range call(those) {
						if a.Err != nil {
							t.Errorf("%s: %v", name, a.Err)
							return
						}
					}
				}
			})
		}
		both.Wait()
	}
}
