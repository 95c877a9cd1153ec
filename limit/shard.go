package limit

import (
	"strings"
	"sync"
)

// shard is a part of the keys, with a lock of its own.
type shard struct {
	mu sync.Mutex
	table
	hand   int // where the search for idle keys goes on
	policy *Policy
	clock  *clock
	most   int // keys
	_      [24]byte
}

// looks is how many keys are looked at for each one that is added: more than
// one, so that idle keys go faster than new ones come.
const looks = 2

// mostLooks bounds the search for an idle key in a shard that is full.
const mostLooks = 256

func (s *shard) decide(hash uint64, key string, n int64, what mode) (granted bool, now int64, after Standing, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now = s.clock.now()
	granted, after, err = s.decideLocked(hash, key, now, n, what)
	return granted, now, after, err
}

// decideLocked decides about a key. One that nothing is known of is only written
// down when something is taken from it; it grants whatever can be asked.
func (s *shard) decideLocked(hash uint64, key string, now, n int64, what mode) (bool, Standing, error) {
	if i := s.find(hash, key); i >= 0 {
		granted, after := s.policy.decide(&s.slots[i].cell, now, n, what)
		return granted, after, nil
	}
	var fresh cell
	granted, after := s.policy.decide(&fresh, now, n, what)
	if what == look || n == 0 {
		return granted, after, nil
	}
	if err := s.makeRoom(now); err != nil {
		return false, Standing{}, err
	}
	s.add(hash, strings.Clone(key), fresh) // which may be a part of something larger
	return granted, after, nil
}

func (s *shard) giveBack(hash uint64, key string, now, n int64, taken Receipt) Standing {
	var fresh cell
	c := &fresh
	if i := s.find(hash, key); i >= 0 {
		c = &s.slots[i].cell
	}
	return s.policy.giveBack(c, now, n, taken)
}

// makeRoom forgets idle keys: a few, or, when the shard is full, the first that
// it finds. Where it stopped looking, the next goes on.
func (s *shard) makeRoom(now int64) error {
	for range looks {
		s.lookAtOne(now)
	}
	if len(s.slots) < s.most {
		return nil
	}
	for range min(mostLooks, len(s.slots)) {
		if s.lookAtOne(now) {
			return nil
		}
	}
	return ErrFull
}

// lookAtOne forgets the next key if it is idle.
func (s *shard) lookAtOne(now int64) bool {
	if len(s.slots) == 0 {
		return false
	}
	if s.hand++; s.hand >= len(s.slots) {
		s.hand = 0
	}
	if !s.policy.idle(&s.slots[s.hand].cell, now) {
		return false
	}
	s.drop(s.hand)
	return true
}

// sweep forgets all idle keys, and lets go of the memory that they had.
func (s *shard) sweep() {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock.now()
	var kept table
	for i := range s.slots {
		if o := &s.slots[i]; !s.policy.idle(&o.cell, now) {
			kept.add(o.hash, o.key, o.cell)
		}
	}
	s.table, s.hand = kept, 0
}
