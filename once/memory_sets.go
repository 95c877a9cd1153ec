package once

import (
	"container/list"
	"context"
	"fmt"
	"time"
)

// markSet is a set of marks: members and their tags.
type markSet struct {
	tags    map[string]string
	expires time.Time     // zero: never
	place   *list.Element // in Memory.aging, if it expires
}

// board is a set of toggles.
type board struct {
	of map[string]Standing
	on int64
}

// Mark implements MarkStore.
func (m *Memory) Mark(_ context.Context, set, tag string, members []string, first []bool) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	s := m.set(set, now)
	if s == nil {
		s = &markSet{tags: map[string]string{}}
	}
	if n := missing(s.tags, members); m.marks+n > m.cfg.Members {
		m.dropSets(now)
		if m.marks+n > m.cfg.Members {
			return fmt.Errorf("%w: %d of %d members are remembered", ErrFull, m.marks, m.cfg.Members)
		}
	}
	for i, name := range members {
		was, in := s.tags[name]
		first[i] = !in || tag != "" && was == tag
		if !in {
			s.tags[name] = tag
			m.marks++
			m.age(set, s, now)
		}
	}
	m.sets[set] = s
	return nil
}

// Unmark implements MarkStore.
func (m *Memory) Unmark(_ context.Context, set string, members []string, was []bool) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.set(set, time.Now())
	for i, name := range members {
		was[i] = false
		if s != nil {
			if _, was[i] = s.tags[name]; was[i] {
				delete(s.tags, name)
				m.marks--
			}
		}
	}
	if s != nil && len(s.tags) == 0 {
		m.drop(set)
	}
	return nil
}

// Marked implements MarkStore.
func (m *Memory) Marked(_ context.Context, set string, members []string, is []bool) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.set(set, time.Now())
	for i, name := range members {
		is[i] = false
		if s != nil {
			_, is[i] = s.tags[name]
		}
	}
	return nil
}

// Marks implements MarkStore.
func (m *Memory) Marks(_ context.Context, set string) (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s := m.set(set, time.Now()); s != nil {
		return int64(len(s.tags)), nil
	}
	return 0, nil
}

// Clear implements MarkStore.
func (m *Memory) Clear(_ context.Context, set string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.drop(set)
	return nil
}

// set returns a set that is still kept, or nil.
func (m *Memory) set(name string, now time.Time) *markSet {
	s := m.sets[name]
	if s != nil && !s.expires.IsZero() && !now.Before(s.expires) {
		m.drop(name)
		return nil
	}
	return s
}

func (m *Memory) drop(set string) {
	if s := m.sets[set]; s != nil {
		m.marks -= len(s.tags)
		delete(m.sets, set)
		if s.place != nil {
			m.aging.Remove(s.place)
		}
	}
}

// age says that a set has a new member: it expires after all others now, as all are
// kept for the same time.
func (m *Memory) age(set string, s *markSet, now time.Time) {
	switch s.expires = laterThan(now, m.cfg.KeepMarks); {
	case s.expires.IsZero():
	case s.place == nil:
		s.place = m.aging.PushBack(set)
	default:
		m.aging.MoveToBack(s.place)
	}
}

// dropSets drops the sets that have expired.
func (m *Memory) dropSets(now time.Time) {
	for first := m.aging.Front(); first != nil && m.set(first.Value.(string), now) == nil; first = m.aging.Front() {
	}
}

func missing(in map[string]string, members []string) (n int) {
	for _, name := range members {
		if _, ok := in[name]; !ok {
			n++
		}
	}
	return n
}

// Apply implements ToggleStore.
func (m *Memory) Apply(_ context.Context, set string, i Intent) (Standing, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	b := m.boards[set]
	if b == nil {
		b = &board{of: map[string]Standing{}}
	}
	was, known := b.of[i.Member]
	next := was.Judge(i)
	if next.Verdict != Applied {
		return next, nil
	}
	if !known {
		if m.toggles >= m.cfg.Members {
			return Standing{}, fmt.Errorf("%w: %d toggles are remembered", ErrFull, m.toggles)
		}
		m.toggles++
	}
	if next.Changed {
		b.on += map[bool]int64{true: 1, false: -1}[next.On]
	}
	b.of[i.Member] = Standing{On: next.On, Seq: next.Seq}
	m.boards[set] = b
	return next, nil
}

// Standing implements ToggleStore.
func (m *Memory) Standing(_ context.Context, set, member string) (Standing, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if b := m.boards[set]; b != nil {
		return b.of[member], nil
	}
	return Standing{}, nil
}

// On implements ToggleStore.
func (m *Memory) On(_ context.Context, set string) (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if b := m.boards[set]; b != nil {
		return b.on, nil
	}
	return 0, nil
}
