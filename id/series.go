package id

import (
	"crypto/rand"
	mathrand "math/rand/v2"
)

// series is the arithmetic of ids without the node's bits: numbers that only
// grow, whatever the clock does. It has no lock.
type series struct {
	layout Layout
	last   int64
	made   uint // in the millisecond that began with a seed; at least 1
}

func newSeries(l Layout, last ID) series {
	return series{layout: l, last: int64(last) >> l.NodeBits, made: 1}
}

// propose returns the number that follows, at ms since the epoch, for a random
// r, and whether it begins a millisecond. Nothing is changed.
func (s *series) propose(ms int64, r uint64) (n int64, fresh bool) {
	low := s.layout.seriesBits()
	if ms > 0 && ms < 1<<timeBits && s.last>>low < ms {
		return ms<<low | int64(r>>(64-s.layout.seedBits())), true
	}
	return s.last + 1 + int64(r&(1<<s.layout.stepBits(s.made)-1)), false
}

// take makes a proposal the last number.
func (s *series) take(n int64, fresh bool) {
	s.last = n
	if fresh {
		s.made = 1
	} else {
		s.made++
	}
}

// ms returns the millisecond of a number.
func (s *series) ms(n int64) int64 { return n >> s.layout.seriesBits() }

// id adds the node's number.
func (s *series) id(n int64, node int) ID { return ID(n<<s.layout.NodeBits | int64(node)) }

// newChaCha returns a generator of random numbers whose seed nobody knows. It
// is not safe for concurrent use.
func newChaCha() *mathrand.ChaCha8 {
	var seed [32]byte
	rand.Read(seed[:]) // never fails: crypto/rand ends the program instead
	return mathrand.NewChaCha8(seed)
}
