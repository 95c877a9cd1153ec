package redis

import (
	"sync"
	"sync/atomic"
)

// known is a set of users and keys, as 64-bit hashes, that only grows. It is
// read without a lock. Two names with one hash are taken for one, and that can
// do no harm: whoever seems to be known is asked about in Redis.
type known struct {
	mu    sync.Mutex
	n     int
	max   int
	table atomic.Pointer[[]atomic.Uint64] // open addressing; 0 is a free place
}

func newKnown(max int) *known {
	k := &known{max: max}
	table := make([]atomic.Uint64, 1024)
	k.table.Store(&table)
	return k
}

// has says that a hash may be in the set.
func (k *known) has(hash uint64) bool {
	hash |= 1 // never 0
	table := *k.table.Load()
	for i := hash >> 1; ; i++ {
		switch table[i&uint64(len(table)-1)].Load() {
		case hash:
			return true
		case 0:
			return false
		}
	}
}

// add puts hashes into the set; false says that it would have more than it may.
func (k *known) add(hashes ...uint64) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, hash := range hashes {
		if k.n >= k.max {
			return false
		}
		table := *k.table.Load()
		if 2*k.n >= len(table) {
			table = k.grow(table)
		}
		if place(table, hash|1) {
			k.n++
		}
	}
	return true
}

func (k *known) grow(old []atomic.Uint64) []atomic.Uint64 {
	table := make([]atomic.Uint64, 2*len(old))
	for i := range old {
		if hash := old[i].Load(); hash != 0 {
			place(table, hash)
		}
	}
	k.table.Store(&table)
	return table
}

// place writes a hash into a table that has room; false says it was there.
func place(table []atomic.Uint64, hash uint64) bool {
	for i := hash >> 1; ; i++ {
		at := &table[i&uint64(len(table)-1)]
		switch at.Load() {
		case hash:
			return false
		case 0:
			at.Store(hash)
			return true
		}
	}
}
