package once

import (
	"bytes"
	"container/list"
	"context"
	"fmt"
	"sync"
	"time"
)

// MemoryConfig says how much a Memory holds.
type MemoryConfig struct {
	// Records bounds the keys of Do. Default 1,000,000; at most 100,000,000.
	// When there are as many, and none has expired, new keys get ErrFull: what is
	// promised is not forgotten in silence.
	Records int

	// Members bounds the marks and toggles of all sets together, each. Default
	// 10,000,000; at most 1,000,000,000. Then new members get ErrFull.
	Members int

	// KeepMarks is for how long a set of marks is kept after its latest new
	// member, at least. Default: for ever; at least 1 ms.
	KeepMarks time.Duration
}

// Memory is a store of one process. It forgets everything when the process ends,
// and needs no clean-up.
type Memory struct {
	cfg MemoryConfig

	mu      sync.Mutex // guards the rest
	records map[string]*record
	token   int64  // the latest one: they grow although a clock stands still or goes back
	agenda  agenda // the records that expire
	watched map[string]map[chan struct{}]struct{}
	sets    map[string]*markSet
	aging   *list.List // the names of sets that expire, the next one first
	marks   int
	boards  map[string]*board
	toggles int
}

// record is what is known of a key. It is never changed once it is Done or Failed, but
// for its place.
type record struct {
	key                string
	place              int   // in the agenda, if it expires
	phase              Phase // Busy, Done, Failed or Free
	owner, fingerprint string
	token              int64
	number             int
	value              []byte
	lease              time.Time // Busy: when it ends
	expires            time.Time // when the record is forgotten; zero: never
}

// NewMemory returns an empty store.
func NewMemory(c MemoryConfig) (*Memory, error) {
	c.Records = otherwise(c.Records, 1_000_000)
	c.Members = otherwise(c.Members, 10_000_000)
	c.KeepMarks = otherwise(c.KeepMarks, Forever)
	switch {
	case c.Records < 1 || c.Records > 100_000_000:
		return nil, fmt.Errorf("once: MemoryConfig.Records %d: must be 1 to 100000000", c.Records)
	case c.Members < 1 || c.Members > 1_000_000_000:
		return nil, fmt.Errorf("once: MemoryConfig.Members %d: must be 1 to 1000000000", c.Members)
	case c.KeepMarks < time.Millisecond:
		return nil, fmt.Errorf("once: MemoryConfig.KeepMarks %v: must be at least %v", c.KeepMarks, time.Millisecond)
	}
	return &Memory{cfg: c, records: map[string]*record{}, watched: map[string]map[chan struct{}]struct{}{},
		sets: map[string]*markSet{}, aging: list.New(), boards: map[string]*board{}}, nil
}

// Begin implements Store.
func (m *Memory) Begin(_ context.Context, c Claim) (State, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	r := m.find(c.Key, now)
	if r != nil && r.phase == Busy && r.owner == c.Owner {
		return State{Phase: Mine, Token: r.token, Number: r.number}, nil
	}
	if s := stateOf(r, now); s.Phase != Free {
		if r.fingerprint != c.Fingerprint {
			s = State{Phase: Reused, Token: s.Token, Number: s.Number}
		}
		return s, nil
	}
	if r != nil && r.phase == Busy && r.fingerprint != c.Fingerprint {
		return State{Phase: Reused, Token: r.token, Number: r.number}, nil // its lease has ended: it may have been done
	}
	next := &record{phase: Busy, owner: c.Owner, fingerprint: c.Fingerprint, token: max(now.UnixMicro(), m.token+1), number: 1,
		lease: now.Add(c.Lease), expires: now.Add(c.Lease + Idle)}
	if r != nil {
		next.number = r.number + 1
	} else if err := m.room(now); err != nil {
		return State{}, err
	}
	m.token = next.token
	m.put(c.Key, r, next)
	return State{Phase: Mine, Token: next.token, Number: next.number}, nil
}

// Renew implements Store.
func (m *Memory) Renew(_ context.Context, key, owner string, lease time.Duration) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	r := m.find(key, now)
	if r == nil || r.phase != Busy || r.owner != owner {
		return false, nil
	}
	r.lease, r.expires = now.Add(lease), now.Add(lease+Idle)
	m.agenda.moved(r)
	return true, nil
}

// End implements Store.
func (m *Memory) End(_ context.Context, key, owner string, o Outcome) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	r := m.find(key, now)
	if r == nil || r.owner != owner {
		return false, nil
	}
	if r.phase != Busy {
		return r.phase == o.Phase, nil // asked again
	}
	next := &record{phase: o.Phase, owner: owner, fingerprint: r.fingerprint, token: r.token, number: r.number, value: bytes.Clone(o.Value)}
	next.expires = laterThan(now, o.Keep)
	if o.Phase == Free {
		next.expires = now.Add(Idle)
	}
	m.put(key, r, next)
	m.tell(key)
	return true, nil
}

// Look implements Store.
func (m *Memory) Look(_ context.Context, key string) (State, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	return stateOf(m.find(key, now), now), nil
}

// Forget implements Store.
func (m *Memory) Forget(_ context.Context, key string) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.find(key, time.Now())
	if r != nil {
		m.remove(r)
	}
	m.tell(key)
	return r != nil, nil
}

// Watch implements Store.
func (m *Memory) Watch(_ context.Context, key string) (<-chan struct{}, func(), error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	ended := make(chan struct{}, 1)
	if m.watched[key] == nil {
		m.watched[key] = map[chan struct{}]struct{}{}
	}
	m.watched[key][ended] = struct{}{}
	return ended, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.watched[key], ended)
		if len(m.watched[key]) == 0 {
			delete(m.watched, key)
		}
	}, nil
}

func (m *Memory) tell(key string) {
	for ended := range m.watched[key] {
		select {
		case ended <- struct{}{}:
		default: // it has not heard of the last end yet
		}
	}
}

func (m *Memory) find(key string, now time.Time) *record {
	r := m.records[key]
	if r == nil || !r.expired(now) {
		return r
	}
	m.remove(r)
	return nil
}

// put puts a record in the place of that which was there, if there was one.
func (m *Memory) put(key string, was, r *record) {
	if was != nil {
		m.remove(was)
	}
	r.key = key
	m.records[key] = r
	if !r.expires.IsZero() {
		m.agenda.add(r)
	}
}

func (m *Memory) remove(r *record) {
	delete(m.records, r.key)
	if !r.expires.IsZero() {
		m.agenda.remove(r)
	}
}

// room drops what has expired: two records for each that comes, so that they go faster
// than they come, and no call takes long.
func (m *Memory) room(now time.Time) error {
	for range 2 {
		if next := m.agenda.next(); next != nil && next.expired(now) {
			m.remove(next)
		}
	}
	if len(m.records) >= m.cfg.Records {
		return fmt.Errorf("%w: %d keys are remembered", ErrFull, m.cfg.Records)
	}
	return nil
}

func (r *record) expired(now time.Time) bool { return !r.expires.IsZero() && !now.Before(r.expires) }

// stateOf returns the state of a record, or of none.
func stateOf(r *record, now time.Time) State {
	if r == nil {
		return State{}
	}
	s := State{Phase: r.phase, Token: r.token, Number: r.number, Value: bytes.Clone(r.value)}
	if r.phase == Busy {
		if s.Left = r.lease.Sub(now); s.Left <= 0 {
			s.Phase, s.Left = Free, 0
		}
	}
	return s
}

// laterThan is a moment after now, or none for ever.
func laterThan(now time.Time, d time.Duration) time.Time {
	if d == Forever {
		return time.Time{}
	}
	return now.Add(d)
}
