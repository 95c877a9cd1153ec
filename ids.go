package rushgate

import (
	"time"

	"rushgate/id"
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
type ids struct{ generator *id.Generator }

const (
	idLowBits  = 22
	idNodeBits = 8

	// MaxNode is the highest number that a node can have.
	MaxNode = 1<<idNodeBits - 1
)

// Time returns when the id was made, to the millisecond, by the clock of the
// server that made it.
func (n ID) Time() time.Time { return time.UnixMilli(int64(n)>>idLowBits + id.EpochMs) }

// alone makes the ids of the only node that there is. A step is 1 to 128: 48,000
// ids in a millisecond before they run ahead of the clock. The first id of a
// millisecond leaves three quarters of the range for steps.
func alone() id.Layout { return id.Layout{EpochMs: id.EpochMs, StartBits: 7, StepBits: 7} }

// several makes the ids of one node among several: 4,900 in a millisecond before
// they run ahead of the clock.
func several() id.Layout {
	return id.Layout{EpochMs: id.EpochMs, NodeBits: idNodeBits, StartBits: 2, StepBits: 2}
}

// newIDs makes the ids of a service, above the last one that the ledger has.
func newIDs(cfg *Config, last ID, shared bool) (*ids, error) {
	c := id.Config{Layout: alone(), Last: id.ID(last), Now: cfg.Now, Random: cfg.Random}
	if shared {
		c.Layout, c.Node = several(), cfg.Node
	}
	g, err := id.New(c)
	if err != nil {
		return nil, err
	}
	return &ids{generator: g}, nil
}

// next returns a new id.
func (g *ids) next() ID { return ID(g.generator.Next()) }
