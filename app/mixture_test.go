package app_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"rushgate"
	"rushgate/app"
	pg "rushgate/ledger/postgres"
)

// leases opens the leases of a ledger, as somebody else's node would.
func leases(t *testing.T, url string) *pg.Ledger {
	t.Helper()
	l, err := pg.Open(t.Context(), url, pg.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// refuses opens a node that must not start, and holds its one line against words.
func refuses(t *testing.T, cfg app.Config, words ...string) {
	t.Helper()
	p, err := app.Open(t.Context(), cfg, slog.New(slog.DiscardHandler))
	if err == nil {
		_ = p.Close(context.Background())
		t.Fatalf("it starts; want %q", words)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q does not say %q in one line", err, w)
		}
	}
	var failed []string
	for _, p := range app.Check(t.Context(), cfg) {
		if !p.OK {
			failed = append(failed, p.Detail)
		}
	}
	if all := strings.Join(failed, "; "); !strings.Contains(all, words[0]) {
		t.Errorf("check does not say %q: %q", words[0], all)
	}
}

// Nodes that sell in another way do not sell from one ledger.
func TestMixturesAreRefused(t *testing.T) {
	t.Parallel()
	ledger, gate := postgres.Server(t).NewDatabase(t), privately(t, redis.Server(t))
	one := join(t, clusterConfig(t, "one", ledger, "memory"))
	refuses(t, clusterConfig(t, "two", ledger, gate), "use the same gate", "one (http://", "--gate memory")
	if err := one.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	join(t, clusterConfig(t, "two", ledger, gate)).awaitReady(t)
	refuses(t, clusterConfig(t, "three", ledger, "memory"), "--gate memory", "two (http://", "redis://")
}

// Whoever speaks another protocol is older or newer: both would be wrong about
// the other.
func TestNodesOfDifferentVersionsAreRefused(t *testing.T) {
	t.Parallel()
	ledger, gate := postgres.Server(t).NewDatabase(t), privately(t, redis.Server(t))
	for name, note := range map[string]string{"node/3": `{"name":"newer","version":"v9","protocol":2,"gate":"redis://x"}`, "leader": "not JSON"} {
		l := leases(t, ledger)
		theirs, held, err := l.Acquire(t.Context(), rushgate.Lease{Name: name, Holder: "x", Note: note}, time.Minute)
		if err != nil || !held {
			t.Fatal(held, err)
		}
		for _, kind := range []string{gate, "memory"} {
			refuses(t, clusterConfig(t, "one", ledger, kind), "nodes of different versions", "protocol 1", "stop that node")
		}
		if err := l.Release(t.Context(), theirs); err != nil {
			t.Fatal(err)
		}
	}
}

// A standby that meets others who sell in another way does not lead when it could.
func TestAStandbyDoesNotJoinAMixture(t *testing.T) {
	t.Parallel()
	ledger := postgres.Server(t).NewDatabase(t)
	one := join(t, clusterConfig(t, "one", ledger, "memory"))
	two := join(t, clusterConfig(t, "two", ledger, "memory"))
	l := leases(t, ledger)
	theirs, _, err := l.Acquire(t.Context(), rushgate.Lease{Name: "node/0", Holder: "x", Note: `{"name":"three","protocol":1,"gate":"redis://x"}`}, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if err := one.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	until(t, "the standby says why", func() bool {
		ok, said := two.ready(t)
		return !ok && strings.Contains(said, "three sells from the same ledger")
	})
	if err := l.Release(t.Context(), theirs); err != nil {
		t.Fatal(err)
	}
	two.awaitReady(t)
}

// A member whose node is gone leaves its number when its time is over, and those
// that are there take over its chores.
func TestANumberIsFreeWhenItsLeaseIsOver(t *testing.T) {
	t.Parallel()
	ledger, gate := postgres.Server(t).NewDatabase(t), privately(t, redis.Server(t))
	proxy, byProxy := through(t, ledger)
	one := join(t, briefly(t, "one", byProxy, gate))
	two := join(t, briefly(t, "two", ledger, gate))
	one.sell(t, "s", 1000)
	ids := one.claims(t, "s", 0, 5)
	if err := proxy.Refuse(); err != nil {
		t.Fatal(err)
	}
	proxy.Cut()
	l := leases(t, ledger)
	until(t, "the chores go to the second node", func() bool { return holder(t, l, "chores") == "two" })
	until(t, "the number is free", func() bool { return holder(t, l, "node/0") == "" })
	ids = append(ids, two.claims(t, "s", 5, 10)...)
	three := join(t, briefly(t, "three", ledger, gate))
	if holder(t, l, "node/0") != "three" || holder(t, l, "node/1") != "two" {
		t.Error("the third node has not taken the free number")
	}
	if err := proxy.Heal(); err != nil {
		t.Fatal(err)
	}
	one.awaitReady(t)
	if holder(t, l, "node/2") != "one" {
		t.Error("the first node has not joined again under a new number")
	}
	ids = append(ids, one.claims(t, "s", 10, 15)...)
	three.owns(t, "s", append(ids, three.claims(t, "s", 15, 20)...)...)
}

// A member that is cut off from the gate, and not from the ledger, leaves the chores
// to one that can do them.
func TestChoresGoToWhoeverReachesTheGate(t *testing.T) {
	t.Parallel()
	ledger, gate := postgres.Server(t).NewDatabase(t), privately(t, redis.Server(t))
	proxy, byProxy := through(t, gate)
	one := join(t, briefly(t, "one", ledger, byProxy))
	l := leases(t, ledger)
	until(t, "the first node has the chores", func() bool { return holder(t, l, "chores") == "one" })
	join(t, briefly(t, "two", ledger, gate))
	if err := proxy.Refuse(); err != nil {
		t.Fatal(err)
	}
	proxy.Cut()
	until(t, "the chores go to the second node", func() bool { return holder(t, l, "chores") == "two" })
	if err := proxy.Heal(); err != nil {
		t.Fatal(err)
	}
	one.awaitReady(t)
}

// holder is the name of the node that has a lease.
func holder(t *testing.T, l rushgate.Leases, name string) string {
	t.Helper()
	held, err := l.Held(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range held {
		if h.Name == name {
			who, _, _ := strings.Cut(h.Holder, "/")
			return who
		}
	}
	return ""
}
