package rushgate

import (
	"sync"
	"time"
)

// ids makes claim ids: 41 bits of milliseconds since 2024, then 22 bits that
// begin anywhere and grow by random steps, so that an id tells its time but
// nobody finds another one by counting. Where several nodes make ids for one
// ledger, the lowest 8 bits are the node's number, and no two of them ever make
// the same.
//
// An id is always larger than every one that this node made before it, whatever
// the clock does: when it stands still or goes back, the ids go on from the last
// one, which may also come from the ledger of an earlier run.
type ids struct {
	now    func() time.Time
	random func() uint64

	node                         int64
	nodeBits, stepBits, seedBits uint

	mu   sync.Mutex
	last int64 // the last id without the node's bits
}

const (
	idEpochMs  = 1_704_067_200_000 // 2024-01-01T00:00:00Z
	idLowBits  = 22
	idNodeBits = 8

	// MaxNode is the highest number that a node can have.
	MaxNode = 1<<idNodeBits - 1
)

// Time returns when the id was made, to the millisecond, by the clock of the
// server that made it.
func (id ID) Time() time.Time { return time.UnixMilli(int64(id)>>idLowBits + idEpochMs) }

// newIDs makes the ids of the only node that there is. A step is 1 to 128: 32,000
// ids in a millisecond before they run ahead of the clock. The first id of a
// millisecond leaves three quarters of the range for steps.
func newIDs(now func() time.Time, random func() uint64, last ID) *ids {
	return &ids{now: now, random: random, stepBits: 7, seedBits: 20, last: int64(last)}
}

// newNodeIDs makes the ids of one node among several: 4,900 in a millisecond
// before they run ahead of the clock.
func newNodeIDs(now func() time.Time, random func() uint64, last ID, node int) *ids {
	return &ids{now: now, random: random, node: int64(node), nodeBits: idNodeBits, stepBits: 2, seedBits: 12,
		last: int64(last) >> idNodeBits}
}

// next returns a new id.
func (g *ids) next() ID {
	ms := g.now().UnixMilli() - idEpochMs
	r := g.random()
	low := idLowBits - g.nodeBits
	g.mu.Lock()
	defer g.mu.Unlock()
	n := g.last + 1 + int64(r&(1<<g.stepBits-1))
	if fresh := ms<<low | int64(r>>(64-g.seedBits)); ms > 0 && ms < 1<<41 && g.last>>low < ms {
		n = fresh
	}
	g.last = n
	return ID(n<<g.nodeBits | g.node)
}
