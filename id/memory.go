package id

import (
	"context"
	"sync"
	"time"
)

// Memory is a Store for nodes in one process, such as tests. Its methods may be
// called by several goroutines.
type Memory struct {
	now func() time.Time

	mu       sync.Mutex
	register Register
}

// NewMemory returns a store without numbers. now is its clock; nil is time.Now.
func NewMemory(now func() time.Time) *Memory {
	if now == nil {
		now = time.Now
	}
	return &Memory{now: now}
}

// Acquire leases a number.
func (m *Memory) Acquire(_ context.Context, q Request) (Lease, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.register.Acquire(m.now().UnixMilli(), q, 0)
}

// Renew extends a window.
func (m *Memory) Renew(_ context.Context, number int, q Request) (Lease, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.register.Renew(m.now().UnixMilli(), number, q)
}

// Release gives a number back.
func (m *Memory) Release(_ context.Context, number int, owner string, usedMs int64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.register.Release(number, owner, usedMs)
	return nil
}
