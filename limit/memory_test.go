package limit_test

import (
	"flag"
	"testing"

	"go.uber.org/goleak"

	"rushgate/limit"
	"rushgate/limit/limittest"
)

func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", "40"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

func memory() limittest.Factory {
	return limittest.Factory{
		New: func(tb testing.TB, policy limit.Policy, clock *limittest.Clock) limit.Limiter {
			m, err := limit.NewMemory(policy, options(clock))
			if err != nil {
				tb.Fatal(err)
			}
			return m
		},
		NewJoint: func(tb testing.TB, rules []limit.Rule, clock *limittest.Clock) limit.Joint {
			j, err := limit.NewMemoryJoint(rules, options(clock))
			if err != nil {
				tb.Fatal(err)
			}
			return j
		},
	}
}

func options(clock *limittest.Clock) limit.MemoryOptions {
	if clock == nil {
		return limit.MemoryOptions{}
	}
	return limit.MemoryOptions{Clock: clock.Now}
}

func TestMemory(t *testing.T) { limittest.Run(t, memory()) }
