package limit

// LenEvery is Len now and then, because it looks at every shard.
func (m *Memory) LenEvery(i int) int {
	if i%997 != 0 {
		return 0
	}
	return m.Len()
}
