package limittest

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"rushgate/limit"
)

// Factory makes limiters of one store. All that it makes may share the store:
// tests use keys of their own.
type Factory struct {
	// New makes a limiter on the clock of the test; on its own if that is nil.
	New func(tb testing.TB, policy limit.Policy, clock *Clock) limit.Limiter

	// NewJoint makes several rules that are decided together.
	NewJoint func(tb testing.TB, rules []limit.Rule, clock *Clock) limit.Joint
}

// Clock is a clock that goes as the test wants.
type Clock struct{ micros atomic.Int64 }

// start is where every clock begins: some time in 2026, on no round number.
const start = 1_795_283_633_123_457

// NewClock makes a clock.
func NewClock() *Clock {
	c := &Clock{}
	c.micros.Store(start)
	return c
}

// Micros returns the time in microseconds since 1970.
func (c *Clock) Micros() int64 { return c.micros.Load() }

// Now returns the time.
func (c *Clock) Now() time.Time { return time.UnixMicro(c.Micros()) }

// Move moves the clock; it may go back.
func (c *Clock) Move(micros int64) { c.micros.Add(micros) }

// Run holds a store against everything that a Limiter and a Joint promise.
func Run(t *testing.T, f Factory) {
	t.Run("Model", func(t *testing.T) { model(t, f) })
	t.Run("Extremes", func(t *testing.T) { extremes(t, f) })
	t.Run("ClockGoesBack", func(t *testing.T) { goesBack(t, f) })
	t.Run("GiveBack", func(t *testing.T) { giveBack(t, f) })
	t.Run("GiveBackLate", func(t *testing.T) { giveBackLate(t, f) })
	t.Run("GiveBackTwice", func(t *testing.T) { giveBackTwice(t, f) })
	t.Run("GiveBackAtOnce", func(t *testing.T) { giveBackAtOnce(t, f) })
	t.Run("Forget", func(t *testing.T) { forget(t, f) })
	t.Run("Refusals", func(t *testing.T) { refusals(t, f) })
	t.Run("Storm", func(t *testing.T) { storm(t, f) })
	t.Run("Joint", func(t *testing.T) { joint(t, f) })
	t.Run("JointStorm", func(t *testing.T) { jointStorm(t, f) })
	t.Run("JointGiveBack", func(t *testing.T) { jointGiveBack(t, f) })
}

// T is what a test and a random history have in common.
type T interface {
	Helper()
	Fatalf(format string, args ...any)
}

var _ T = (*testing.T)(nil)

// keys makes keys that no other test has.
type keys struct {
	name string
	n    atomic.Int64
}

func newKeys(t *testing.T) *keys { return &keys{name: t.Name()} }

func (k *keys) next() string { return fmt.Sprintf("%s-%d", k.name, k.n.Add(1)) }

// must ends the test on an error.
func must[V any](t T, v V, err error) V {
	t.Helper()
	if err != nil {
		t.Fatalf("%v", err)
	}
	return v
}

func background() context.Context { return context.Background() }
