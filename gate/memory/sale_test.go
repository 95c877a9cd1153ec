package memory

import "testing"

// What must never happen: each is an error that leaves the count as it was.
func TestItemRefusesToLoseCount(t *testing.T) {
	it := &item{id: "a", total: 10}
	it.free.Store(9)
	if it.take(10) || it.take(11) {
		t.Error("took more than is free")
	}
	if it.give(2) == nil {
		t.Error("gave back more than there is")
	}
	if it.settle(1) == nil {
		t.Error("settled what nobody has")
	}
	if it.free.Load() != 9 || it.unsettled != 0 || it.total != 10 {
		t.Errorf("counts changed: %d free of %d, %d unsettled", it.free.Load(), it.total, it.unsettled)
	}
}
