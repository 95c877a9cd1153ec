package id

import (
	"crypto/rand"
	"math"
	mathrand "math/rand/v2"
	"sync"
	"sync/atomic"
)

// series is the arithmetic of ids without the node's bits: numbers that only
// grow, whatever the clock does. There is no lock: who takes a number says which
// one was last when it was proposed, and begins again if that has changed.
type series struct {
	layout Layout
	last   atomic.Int64
	made   atomic.Uint32 // about how many in the millisecond that began with a seed; it sizes steps alone
}

// ended is the last number of a series that has been closed. (Without the bits of
// a node it is the last of all ids, and is never made.)
const ended = math.MaxInt64

func (s *series) begin(l Layout, last ID) {
	s.layout = l
	s.last.Store(int64(last) >> l.NodeBits)
	s.made.Store(1)
}

// propose returns the number that follows last, at ms since the epoch, for a
// random r, and whether it begins a millisecond. Nothing is changed.
func (s *series) propose(last, ms int64, r uint64) (n int64, fresh bool) {
	low := s.layout.seriesBits()
	if ms > 0 && ms < 1<<timeBits && last>>low < ms {
		return ms<<low | int64(r>>(64-s.layout.seedBits())), true
	}
	return last + 1 + int64(r&(1<<s.layout.stepBits(s.made.Load())-1)), false
}

// take makes a proposal the last number, unless there is another one by now.
func (s *series) take(last, n int64, fresh bool) bool {
	if !s.last.CompareAndSwap(last, n) {
		return false
	}
	if fresh {
		s.made.Store(1)
	} else {
		s.made.Add(1)
	}
	return true
}

// ms returns the millisecond of a number.
func (s *series) ms(n int64) int64 { return n >> s.layout.seriesBits() }

// id adds the node's number.
func (s *series) id(n int64, node int) ID { return ID(n<<s.layout.NodeBits | int64(node)) }

// dice are random numbers whose seeds nobody knows, for several goroutines.
type dice struct{ pool sync.Pool }

func newDice() *dice {
	return &dice{pool: sync.Pool{New: func() any { return newChaCha() }}}
}

func (d *dice) uint64() uint64 {
	c := d.pool.Get().(*mathrand.ChaCha8)
	r := c.Uint64()
	d.pool.Put(c)
	return r
}

// newChaCha returns a generator of random numbers whose seed nobody knows. It
// is not safe for concurrent use.
func newChaCha() *mathrand.ChaCha8 {
	var seed [32]byte
	rand.Read(seed[:]) // never fails: crypto/rand ends the program instead
	return mathrand.NewChaCha8(seed)
}
