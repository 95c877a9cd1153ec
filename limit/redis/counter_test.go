package redis_test

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
	"time"

	"rushgate/limit"
	"rushgate/limit/limittest"
)

// TestSharesBeyond2To53: a share of a window is exact where units times
// microseconds are more than Lua's numbers can be. The moments are those at which
// a division of such numbers is off by one unit.
func TestSharesBeyond2To53(t *testing.T) {
	const units, width = 999_999_999_989, int64(limit.MaxWindow / time.Microsecond)
	clock := limittest.NewClock()
	l := open(t, connect(t, server.Server(t).Addr), "shares", limit.SlidingCounter(units, limit.MaxWindow), patient())
	l.Tell(clock.Micros)
	clock.Move(-(clock.Micros() % width))
	begin := clock.Micros() + width
	if r := take(t, l, "k", units); !r.Granted {
		t.Fatalf("%+v", r)
	}
	for found := 0; found < 300; {
		left := new(big.Int).Mul(big.NewInt(1+rand.Int64N(units-2)), big.NewInt(width))
		left.Div(left, big.NewInt(units)).Add(left, big.NewInt(rand.Int64N(2)))
		share := exactShare(left.Int64(), units, width)
		if share == roundedShare(left.Int64(), units, width) {
			continue
		}
		found++
		clock.Move(begin + width - left.Int64() - clock.Micros())
		for n, want := range map[int64]bool{units - share: true, units - share + 1: false} {
			if r, err := l.Peek(t.Context(), "k", n); err != nil || n > 0 && r.Granted != want {
				t.Fatalf("with %v of the window left, %d count: %d more: %+v, %v", left, share, n, r, err)
			}
		}
	}
}

func exactShare(left, units, width int64) int64 {
	part, rest := new(big.Int).QuoRem(new(big.Int).Mul(big.NewInt(units), big.NewInt(left)), big.NewInt(width), new(big.Int))
	return part.Int64() + int64(rest.Sign())
}

// roundedShare is what floating-point numbers make of it.
func roundedShare(left, units, width int64) int64 {
	product := float64(units) * float64(left)
	whole := math.Floor(product / float64(width))
	rest := product - float64(whole*float64(width))
	return int64((product-rest)/float64(width)) + int64(min(1, math.Ceil(rest)))
}
