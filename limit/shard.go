package limit

import (
	"strings"
	"sync"
)

// shard is a part of the keys, with a lock of its own.
type shard struct {
	mu     sync.Mutex
	index  map[string]int32 // where a key's slot is
	slots  []slot           // without holes
	hand   int              // where the search for idle keys goes on
	policy *Policy
	clock  *clock
	most   int // keys
	_      [32]byte
}

type slot struct {
	key  string
	cell cell
}

// looks is how many keys are looked at for each one that is added: more than
// one, so that idle keys go faster than new ones come.
const looks = 2

// mostLooks bounds the search for an idle key in a shard that is full.
const mostLooks = 256

func (s *shard) decide(key string, n int64, what mode) (granted bool, now int64, after Standing, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now = s.clock.now()
	granted, after, err = s.decideLocked(key, now, n, what)
	return granted, now, after, err
}

// decideLocked decides about a key. One that nothing is known of is only written
// down when something is taken from it.
func (s *shard) decideLocked(key string, now, n int64, what mode) (bool, Standing, error) {
	if i, known := s.index[key]; known {
		granted, after := s.policy.decide(&s.slots[i].cell, now, n, what)
		return granted, after, nil
	}
	var fresh cell
	granted, after := s.policy.decide(&fresh, now, n, what)
	if !granted || what == look || n == 0 {
		return granted, after, nil
	}
	if err := s.makeRoom(now); err != nil {
		return false, Standing{}, err
	}
	s.add(key, fresh)
	return granted, after, nil
}

func (s *shard) giveBack(key string, now, n int64, taken Receipt) Standing {
	var fresh cell
	c := &fresh
	if i, known := s.index[key]; known {
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
	s.drop(int32(s.hand))
	return true
}

func (s *shard) add(key string, c cell) {
	if s.index == nil {
		s.index = map[string]int32{}
	}
	key = strings.Clone(key) // which may be a part of something larger
	s.index[key] = int32(len(s.slots))
	s.slots = append(s.slots, slot{key, c})
}

// drop forgets a key. The last slot takes its place.
func (s *shard) drop(i int32) {
	delete(s.index, s.slots[i].key)
	end := len(s.slots) - 1
	if last := s.slots[end]; int(i) != end {
		s.slots[i] = last
		s.index[last.key] = i
	}
	s.slots[end] = slot{}
	s.slots = s.slots[:end]
}

// sweep forgets all idle keys, and lets go of the memory that they had.
func (s *shard) sweep() {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock.now()
	kept := 0
	for i := range s.slots {
		if !s.policy.idle(&s.slots[i].cell, now) {
			kept++
		}
	}
	slots, index := make([]slot, 0, kept), make(map[string]int32, kept)
	for i := range s.slots {
		if !s.policy.idle(&s.slots[i].cell, now) {
			index[s.slots[i].key] = int32(len(slots))
			slots = append(slots, s.slots[i])
		}
	}
	s.slots, s.index, s.hand = slots, index, 0
}
