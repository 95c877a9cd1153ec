package lock

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
