package id

import (
	"fmt"
	"time"
)

// Generator makes ids for a node whose number somebody else vouches for: there is
// one node alone, or numbers are given out by hand or by a lease of the caller's.
// (Who wants the lease too takes a Node.) Its methods may be called by several
// goroutines.
//
// An id is always larger than every one that this generator made before, whatever
// the clock does: when it stands still or goes back, or more are asked for than
// fit into a millisecond, the ids go on from the last one, and run ahead of the
// clock until it has caught up.
type Generator struct {
	now    func() time.Time
	random func() uint64
	node   int
	series series
}

// Config is how a Generator is made.
type Config struct {
	Layout Layout // must be given: see Standard
	Node   int    // 0 to Layout.Nodes()-1

	// Last is the highest id that this number has made before, 0 if none: the
	// ids go on above it, even if the clock has gone back meanwhile. A generator
	// that is not told begins with its clock, and relies on it.
	Last ID

	Now    func() time.Time // default: time.Now
	Random func() uint64    // all bits random; safe for concurrent use. Default: ChaCha8, seeded by crypto/rand
}

// New returns a generator, or an error that says what is wrong with cfg.
func New(cfg Config) (*Generator, error) {
	if err := cfg.Layout.Validate(); err != nil {
		return nil, err
	}
	if cfg.Node < 0 || cfg.Node >= cfg.Layout.Nodes() {
		return nil, fmt.Errorf("id: node %d: must be 0 to %d", cfg.Node, cfg.Layout.Nodes()-1)
	}
	if cfg.Last < 0 {
		return nil, fmt.Errorf("id: last id %d: must not be negative", int64(cfg.Last))
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Random == nil {
		cfg.Random = newDice().uint64
	}
	g := &Generator{now: cfg.Now, random: cfg.Random, node: cfg.Node}
	g.series.begin(cfg.Layout, cfg.Last)
	return g, nil
}

// Next returns a new id. It never waits. When the 63 bits are used up, 69 years
// after the epoch, it panics: an id that has been there before would be worse.
func (g *Generator) Next() ID {
	ms := g.now().UnixMilli() - g.series.layout.EpochMs
	r := g.random()
	for {
		last := g.series.last.Load()
		n, fresh := g.series.propose(last, ms, r)
		if n < last || g.series.ms(n) >= 1<<timeBits {
			panic("id: the 63 bits are used up: the last id was " + g.series.id(last, g.node).String())
		}
		if g.series.take(last, n, fresh) {
			return g.series.id(n, g.node)
		}
	}
}

// Layout returns the layout of the ids.
func (g *Generator) Layout() Layout { return g.series.layout }
