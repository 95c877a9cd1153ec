package lock

import "time"

// Expire ends the lease of a claim as time would.
func Expire(m *Memory, key, owner string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if l := m.keys[key]; l != nil {
		if s := l.find(owner); s != nil {
			s.ends = m.now()
		}
	}
}

// Stall keeps a lock from being renewed and from being ended by its timer, as if
// the goroutine that does so got no processor any more.
func Stall(h *Held) {
	k := &h.locker.keeper
	k.mu.Lock()
	defer k.mu.Unlock()
	k.remove(&h.duty)
}

// Lasting is how long a holder relies on a lease.
func Lasting(lease time.Duration) time.Duration { return lasting(lease) }
