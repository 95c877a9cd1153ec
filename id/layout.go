package id

import (
	"errors"
	"fmt"
	"math/bits"
	"time"
)

// An id has 63 bits: 41 of milliseconds, then 22 that a layout divides.
const (
	timeBits = 41
	lowBits  = 22

	// MaxNodeBits is the most that a layout gives to the node's number: 1024
	// nodes. More would leave a node less than two million ids a second.
	MaxNodeBits = 10

	// EpochMs is the millisecond (Unix) at which standard ids begin:
	// 2024-01-01T00:00:00Z. They end in September 2093.
	EpochMs = 1_704_067_200_000
)

// Layout says what the bits of an id mean, from the highest: 41 bits of
// milliseconds since EpochMs, 22−NodeBits bits that begin anywhere in the lowest
// quarter of their range and grow by random steps, and the number of the node.
// All nodes, and all who decode, must use the same one. Get one from Standard.
type Layout struct {
	EpochMs  int64 // the millisecond (Unix) that counts as 0
	NodeBits int   // 0 to MaxNodeBits; 0: there is one node

	// The first step in a millisecond is 1 to 2^StartBits. It is halved as the
	// number of ids in this millisecond doubles, down to 1 to 2^StepBits.
	StartBits, StepBits int
}

// Standard returns the layout for up to 2^nodeBits nodes: the largest steps
// with which a node makes about 4000 ids in a millisecond without running ahead
// of the clock (2000 with 10 bits). 8 is a good choice. Other numbers than 0 to
// MaxNodeBits make a layout that Validate refuses.
func Standard(nodeBits int) Layout {
	l := Layout{EpochMs: EpochMs, NodeBits: nodeBits, StepBits: 1}
	if nodeBits < 0 || nodeBits > MaxNodeBits {
		return l
	}
	room := 3 * 1 << l.seedBits()
	for 2*room >= 4000*twiceMean(l.StepBits+1) {
		l.StepBits++
	}
	l.StartBits = l.StepBits
	for spare := room - 1020*twiceMean(l.StepBits); l.StartBits < l.seedBits() && 4*l.startCost(l.StartBits+1) <= spare; {
		l.StartBits++
	}
	return l
}

// twiceMean is twice the mean of a random step of 1 to 2^bits.
func twiceMean(bits int) int { return 1<<bits + 1 }

// startCost is what the larger steps at the beginning of a millisecond take
// from its range, on the average: the same for every doubling.
func (l Layout) startCost(start int) int {
	if start == l.StepBits {
		return 0
	}
	return (start + 1 - l.StepBits) * (1 << start) / 2
}

// Validate is an error if ids cannot be made in this layout.
func (l Layout) Validate() error {
	switch {
	case l.EpochMs < 0 || l.EpochMs >= 1<<42:
		return fmt.Errorf("id: epoch %d ms: must be 0 to %d ms after 1970", l.EpochMs, int64(1)<<42-1)
	case l.NodeBits < 0 || l.NodeBits > MaxNodeBits:
		return fmt.Errorf("id: %d bits for the node: must be 0 to %d", l.NodeBits, MaxNodeBits)
	case l.StepBits < 1:
		return errors.New("id: steps of 0 bits: ids could be found by counting")
	case l.StartBits < l.StepBits || l.StartBits > l.seedBits():
		return fmt.Errorf("id: first steps of %d bits: must be %d (as the later ones) to %d", l.StartBits, l.StepBits, l.seedBits())
	}
	return nil
}

// Nodes returns how many node numbers there are.
func (l Layout) Nodes() int { return 1 << l.NodeBits }

// PerMillisecond returns about how many ids a node makes in a millisecond
// before they run ahead of the clock, if it begins as high as it can.
func (l Layout) PerMillisecond() int {
	return 2 * (3*1<<l.seedBits() - l.startCost(l.StartBits)) / twiceMean(l.StepBits)
}

// Time returns when an id was made, to the millisecond: by the clock of its
// node or, where the number was leased, of the store.
func (l Layout) Time(id ID) time.Time { return time.UnixMilli(int64(id)>>lowBits + l.EpochMs) }

// Node returns the number of the node that made an id.
func (l Layout) Node(id ID) int { return int(int64(id) & (1<<l.NodeBits - 1)) }

// Least returns the least id that a node can make at a time or later: what was
// made since then is id >= Least(t). Times out of range give the nearest end.
func (l Layout) Least(t time.Time) ID {
	ms := t.UnixMilli() - l.EpochMs
	return ID(min(max(ms, 0), 1<<timeBits-1) << lowBits)
}

// String names what decides whether two ids can be told apart: nodes that share
// their numbers must agree on it.
func (l Layout) String() string { return fmt.Sprintf("ms41@%d/node%d", l.EpochMs, l.NodeBits) }

func (l Layout) seriesBits() int { return lowBits - l.NodeBits }
func (l Layout) seedBits() int   { return l.seriesBits() - 2 }

// stepBits is the size of the step after the k-th id of a millisecond, k ≥ 1.
func (l *Layout) stepBits(k uint32) uint {
	return uint(max(l.StepBits, l.StartBits+1-bits.Len32(max(k, 1))))
}
