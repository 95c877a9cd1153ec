package gatetest_test

import (
	"context"
	"testing"
	"time"

	"rushgate"
	"rushgate/gate/gatetest"
	"rushgate/gate/memory"
)

// clocked is a gate that goes by its own clock and is told wrong moments, as a
// gate on another machine is.
type clocked struct{ rushgate.Gate }

func (c clocked) Peek(_ time.Time, a *rushgate.Ask) rushgate.Code {
	return c.Gate.Peek(time.Now(), a)
}

func (c clocked) Claim(ctx context.Context, _ time.Time, asks []rushgate.Ask, out []rushgate.Decision) error {
	return c.Gate.Claim(ctx, time.Now(), asks, out)
}

// The suite can be passed by a gate that does not obey the suite's moments.
func TestSuiteToleratesAnOwnClock(t *testing.T) {
	gatetest.Run(t, gatetest.Factory{OwnClock: true, New: func(testing.TB) rushgate.Gate { return clocked{memory.New()} }})
}
