package id

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// oldIDs are the claim ids as Rushgate made them before there was this package,
// kept word for word: ids that are on disks were made so.
type oldIDs struct {
	now                          func() time.Time
	random                       func() uint64
	node                         int64
	nodeBits, stepBits, seedBits uint
	last                         int64
}

func (g *oldIDs) next() ID {
	ms := g.now().UnixMilli() - 1_704_067_200_000
	r := g.random()
	low := 22 - g.nodeBits
	n := g.last + 1 + int64(r&(1<<g.stepBits-1))
	if fresh := ms<<low | int64(r>>(64-g.seedBits)); ms > 0 && ms < 1<<41 && g.last>>low < ms {
		n = fresh
	}
	g.last = n
	return ID(n<<g.nodeBits | g.node)
}

// TestClaimIDsAreMadeAsEver: the same clock and the same randomness give the same
// ids as before, in both layouts of claims.
func TestClaimIDsAreMadeAsEver(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := time.UnixMilli(rapid.Int64Range(0, 1<<42).Draw(t, "now"))
		last := rapid.Int64Range(0, 1<<62).Draw(t, "last")
		clock := func() time.Time { return now }
		var seed [2]uint64
		draw := func(i int) func() uint64 {
			return func() uint64 {
				seed[i] = seed[i]*6364136223846793005 + 1442695040888963407
				return seed[i] ^ seed[i]>>29
			}
		}
		old := &oldIDs{now: clock, random: draw(0), stepBits: 7, seedBits: 20, last: last}
		cfg := Config{Layout: Layout{EpochMs: EpochMs, StartBits: 7, StepBits: 7}, Now: clock, Random: draw(1), Last: ID(last)}
		if rapid.Bool().Draw(t, "several") {
			cfg.Layout, cfg.Node = Layout{EpochMs: EpochMs, NodeBits: 8, StartBits: 2, StepBits: 2}, rapid.IntRange(0, 255).Draw(t, "node")
			old.node, old.nodeBits, old.stepBits, old.seedBits, old.last = int64(cfg.Node), 8, 2, 12, last>>8
		}
		g, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		for range rapid.IntRange(1, 40).Draw(t, "rounds") {
			now = now.Add(time.Duration(rapid.Int64Range(-5_000, 10_000).Draw(t, "us")) * time.Microsecond)
			for range rapid.IntRange(1, 300).Draw(t, "ids") {
				if got, want := g.Next(), old.next(); got != want {
					t.Fatalf("%d, before it was %d", got, want)
				}
			}
		}
	})
}
