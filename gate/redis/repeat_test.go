package redis_test

import (
	"strings"
	"testing"

	"rushgate"
	"rushgate/gate/gatetest"
	"rushgate/gate/redis"
)

// forgetful makes gates that lose the first answer to every script.
func forgetful(tb testing.TB, n int, claims bool) []rushgate.Shared {
	opts := fresh()
	gates := make([]rushgate.Shared, n)
	for i := range gates {
		gates[i] = openForgetful(tb, opts, claims)
	}
	return gates
}

func openForgetful(tb testing.TB, opts redis.Options, claims bool) *redis.Gate {
	tb.Helper()
	g, err := redis.OpenForgetful(tb.Context(), server.Server(tb).URL(), opts, claims)
	if err != nil {
		tb.Fatal(err)
	}
	return g
}

// Every script can be repeated: the whole suite, with each of them sent twice.
func TestGateWhereEveryAnswerGetsLost(t *testing.T) {
	gatetest.Run(t, gatetest.Factory{OwnClock: true, Shards: 3, New: func(tb testing.TB) rushgate.Gate { return forgetful(tb, 1, true)[0] }})
}

// The other suite compares the moments of decisions with the journal's, and a
// decision that is told again is told with a later one.
func TestSharedWhereEveryAnswerGetsLost(t *testing.T) {
	gatetest.RunShared(t, gatetest.SharedFactory{Shards: 3, New: func(tb testing.TB, n int) []rushgate.Shared { return forgetful(tb, n, false) }})
}

// A load knows what it has replaced, also when it is told only the second time.
func TestALoadWhoseAnswersGetLostLeavesNoOldPicture(t *testing.T) {
	opts := fresh()
	s := &shop{t: t, last: 1000, sale: rushgate.Sale{ID: "sale", PerUser: 1, Version: 1}, gate: openForgetful(t, opts, true)}
	defer s.gate.Close()
	for range 3 {
		s.load(10)
		s.want(rushgate.Granted, s.asks(3))
	}
	c := raw(t, server.Server(t).Addr)
	left, err := c.Do(t.Context(), c.B().Keys().Pattern(opts.Prefix+"*").Build()).AsStrSlice()
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range left {
		if !strings.HasSuffix(key, ":3") && !strings.HasSuffix(key, ":control") {
			t.Errorf("%s is left", key)
		}
	}
}
