package rushgate

import (
	"sync"
	"time"
)

// ids makes claim ids: 41 bits of milliseconds since 2024, then 22 bits that
// begin anywhere and grow by random steps, so that an id tells its time but
// nobody finds another one by counting.
//
// An id is always larger than every one before it, whatever the clock does:
// when it stands still or goes back, the ids go on from the last one, which
// may also come from the ledger of an earlier run.
type ids struct {
	now    func() time.Time
	random func() uint64

	mu   sync.Mutex
	last int64
}

const (
	idEpochMs  = 1_704_067_200_000 // 2024-01-01T00:00:00Z
	idLowBits  = 22
	idStepBits = 7  // a step is 1..128: 32,000 ids in a millisecond before it runs ahead of the clock
	idSeedBits = 20 // the first id of a millisecond: leaves three quarters of the range for steps
)

// Time returns when the id was made, to the millisecond, by the clock of the
// server that made it.
func (id ID) Time() time.Time { return time.UnixMilli(int64(id)>>idLowBits + idEpochMs) }

func newIDs(now func() time.Time, random func() uint64, last ID) *ids {
	return &ids{now: now, random: random, last: int64(last)}
}

// next returns a new id.
func (g *ids) next() ID {
	ms := g.now().UnixMilli() - idEpochMs
	r := g.random()
	g.mu.Lock()
	defer g.mu.Unlock()
	id := g.last + 1 + int64(r&(1<<idStepBits-1))
	if fresh := ms<<idLowBits | int64(r>>(64-idSeedBits)); ms > 0 && ms < 1<<41 && g.last>>idLowBits < ms {
		id = fresh
	}
	g.last = id
	return ID(id)
}
