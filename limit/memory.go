package limit

import (
	"context"
	"fmt"
	"hash/maphash"
	"time"
)

// MemoryOptions are what a memory store is made with. The zero value of every
// field means its default.
type MemoryOptions struct {
	// MaxKeys is how many keys the store remembers at most; default 1,048,576,
	// at about 90 bytes each beside the key itself (more for a sliding log).
	// One that is new when all of them are in use gets ErrFull: to forget a key
	// that is not idle would give it a second limit. Keys are spread over up to 64
	// parts by chance, so that the first is full a little earlier: leave a tenth.
	MaxKeys int

	// Clock tells the time; default is the monotonic clock of the process, which
	// never goes back, set to the wall clock once. A clock that goes back makes
	// no limit more generous, and locks no key for longer than its window.
	// Readings must be after 1970.
	Clock func() time.Time
}

const (
	defaultKeys = 1 << 20
	mostKeys    = 1 << 30
	shardCount  = 64 // a power of two
)

func (o *MemoryOptions) complete() error {
	if o.MaxKeys == 0 {
		o.MaxKeys = defaultKeys
	}
	if o.MaxKeys < 1 || o.MaxKeys > mostKeys {
		return fmt.Errorf("%w MaxKeys: it must be 1 to %d, not %d", ErrInvalid, mostKeys, o.MaxKeys)
	}
	return nil
}

// Memory is a Limiter in this process's memory. It has no goroutine and needs no
// closing: keys that are idle, which stand as if they had never been used, are
// forgotten a few at a time while others are added.
type Memory struct {
	policy Policy
	clock  *clock
	seed   maphash.Seed
	shards []shard
	mask   uint64
}

// NewMemory makes a Memory.
func NewMemory(policy Policy, options MemoryOptions) (*Memory, error) {
	return newMemory(policy, options, newClock(options.Clock))
}

func newMemory(policy Policy, options MemoryOptions, clock *clock) (*Memory, error) {
	if err := policy.Validate(); err != nil {
		return nil, err
	}
	if err := options.complete(); err != nil {
		return nil, err
	}
	m := &Memory{policy: policy, clock: clock, seed: maphash.MakeSeed()}
	shards := shardCount
	for shards > 1 && options.MaxKeys/shards < 1024 { // a small store must not be full in one shard alone
		shards /= 2
	}
	m.shards, m.mask = make([]shard, shards), uint64(shards-1)
	for i := range m.shards {
		m.shards[i].policy, m.shards[i].clock = &m.policy, m.clock
		m.shards[i].most = (options.MaxKeys + i) / shards // which add up to MaxKeys
	}
	return m, nil
}

// Policy returns the policy.
func (m *Memory) Policy() Policy { return m.policy }

// Take takes n units for a key: see Limiter.
func (m *Memory) Take(_ context.Context, key string, n int64) (Result, error) {
	return m.decide(key, n, take)
}

// Peek answers what Take would: see Limiter.
func (m *Memory) Peek(_ context.Context, key string, n int64) (Result, error) {
	return m.decide(key, n, look)
}

func (m *Memory) decide(key string, n int64, what mode) (r Result, err error) {
	if err := CheckKey(key); err != nil {
		return Result{}, err
	}
	if err := m.policy.CheckUnits(n); err != nil {
		return Result{}, err
	}
	hash := maphash.String(m.seed, key)
	granted, now, after, err := m.shard(hash).decide(hash, key, n, what)
	if err != nil {
		return Result{}, err
	}
	m.policy.answer(&r, granted, now, n, after)
	if granted && what == take {
		r.receipt = Receipt{Units: n, At: now, Standing: after}
	}
	return r, nil
}

// GiveBack undoes n units of a Take: see Limiter.
func (m *Memory) GiveBack(_ context.Context, key string, taken Result, n int64) (Result, error) {
	if err := CheckKey(key); err != nil {
		return Result{}, err
	}
	if err := CheckGiveBack(taken, n); err != nil {
		return Result{}, err
	}
	hash := maphash.String(m.seed, key)
	s := m.shard(hash)
	s.mu.Lock()
	defer s.mu.Unlock()
	now := m.clock.now()
	return m.policy.Answer(true, now, 0, s.giveBack(hash, key, now, n, taken.receipt)), nil
}

// Forget lets a key begin anew: see Limiter.
func (m *Memory) Forget(_ context.Context, key string) error {
	if err := CheckKey(key); err != nil {
		return err
	}
	hash := maphash.String(m.seed, key)
	s := m.shard(hash)
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := s.find(hash, key); i >= 0 {
		s.drop(i)
	}
	return nil
}

// Len returns how many keys the store remembers.
func (m *Memory) Len() int {
	n := 0
	for i := range m.shards {
		s := &m.shards[i]
		s.mu.Lock()
		n += len(s.slots)
		s.mu.Unlock()
	}
	return n
}

// Sweep forgets all idle keys at once and gives their memory back. Nobody has to
// call it; a program whose keys come in waves may want to, now and then.
func (m *Memory) Sweep() {
	for i := range m.shards {
		m.shards[i].sweep()
	}
}

// shard returns the part that a key belongs to, by the upper half of its hash:
// the lower one places it there.
func (m *Memory) shard(hash uint64) *shard { return &m.shards[hash>>32&m.mask] }
