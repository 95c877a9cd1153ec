package testenv

import (
	"testing"
)

func TestAReplicaHasWhatItsMasterHas(t *testing.T) {
	master := Redis(t, "requirepass secret")
	asked(t, master, "SET", "unit", "1")
	replica := RedisReplica(t, master)
	if got := asked(t, replica, "GET", "unit"); got != "1" {
		t.Errorf("the replica has %q, want 1", got)
	}
	if _, err := replica.ask("SET", "unit", "2"); err == nil {
		t.Error("a replica was written to")
	}
}

func TestAReplicaTakesOverWithoutWhatItHasNotHeard(t *testing.T) {
	p := RedisPair(t, "requirepass secret")
	say := func(words ...string) string {
		t.Helper()
		answer, err := ask(p.Addr, "secret", words...)
		if err != nil {
			t.Fatal(err)
		}
		return answer
	}
	say("SET", "unit", "heard")
	if got := say("WAIT", "1", "10000"); got != "1" {
		t.Fatalf("%s replicas have it, want 1", got)
	}
	p.Lag()
	say("SET", "unit", "not heard")
	before := say("CONFIG", "GET", "port")
	if err := p.FailOver(); err != nil {
		t.Fatal(err)
	}
	if got := say("GET", "unit"); got != "heard" {
		t.Errorf("after the failover the unit is %q", got)
	}
	if say("SET", "unit", "new"); say("CONFIG", "GET", "port") == before {
		t.Error("the old master answers")
	}
}

func TestSentinelsReplaceAMasterThatIsGone(t *testing.T) {
	t.Parallel() // it waits most of the time
	g := RedisSentinel(t, 2, "requirepass secret")
	old, err := g.Master()
	if err != nil {
		t.Fatal(err)
	}
	if old != g.Servers[0] {
		t.Errorf("master %s, want the first server %s", old.Addr, g.Servers[0].Addr)
	}
	asked(t, old, "SET", "unit", "1")
	if got := asked(t, old, "WAIT", "2", "10000"); got != "2" {
		t.Fatalf("%s replicas have it, want 2", got)
	}
	if err := old.Pause(); err != nil {
		t.Fatal(err)
	}
	next, err := g.MasterAfter(old)
	if err != nil {
		t.Fatal(err)
	}
	if got := asked(t, next, "GET", "unit"); got != "1" {
		t.Errorf("the next master has %q, want 1", got)
	}
	if err := old.Resume(); err != nil {
		t.Fatal(err)
	}
	if err := until(agreement, nil, old.copied); err != nil {
		t.Errorf("the old master came back and copies nobody: %v", err)
	}
	if now, err := g.Master(); err != nil || now != next {
		t.Errorf("the master changed again: %v", err)
	}
	if err := until(agreement, nil, g.Complete); err != nil {
		t.Fatal(err)
	}
	// A sentinel that got no processor for a while trusts no replica for as long.
	err = until(agreement, nil, func() error {
		_, err := g.Sentinels[0].ask("SENTINEL", "FAILOVER", g.Name)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if last, err := g.MasterAfter(next); err != nil || last == next {
		t.Errorf("there is no other master although one was asked for: %v", err)
	}
}

func TestAClusterReplacesAMasterThatIsGone(t *testing.T) {
	t.Parallel() // it waits most of the time
	g := RedisCluster(t, 3, 1, "requirepass secret", "appendonly yes", "appendfsync always")
	if len(g.Servers) != 6 {
		t.Fatalf("%d servers, want 6", len(g.Servers))
	}
	for i, slot := range []int{0, clusterSlots / 2, clusterSlots - 1} {
		if owner, err := g.Owner(slot); err != nil || owner != g.Servers[i] {
			t.Errorf("slot %d: %v, want server %d", slot, err, i)
		}
	}
	old := g.Servers[0]
	key := "{06S}unit" // slot 0
	if got := asked(t, old, "CLUSTER", "KEYSLOT", key); got != "0" {
		t.Fatalf("the key is in slot %s", got)
	}
	asked(t, old, "SET", key, "1")
	if got := asked(t, old, "WAIT", "1", "10000"); got != "1" {
		t.Fatalf("%s replicas have it, want 1", got)
	}
	old.Kill()
	next, err := g.OwnerAfter(0, old)
	if err != nil {
		t.Fatal(err)
	}
	if next != g.Servers[3] {
		t.Errorf("%s has the slot now, want the replica %s", next.Addr, g.Servers[3].Addr)
	}
	if got := asked(t, next, "GET", key); got != "1" {
		t.Errorf("the next master has %q, want 1", got)
	}
	if err := old.Start(); err != nil {
		t.Fatal(err)
	}
	if err := until(agreement, nil, old.copied); err != nil {
		t.Errorf("the old master came back and copies nobody: %v", err)
	}
	if now, err := g.Owner(0); err != nil || now != next {
		t.Errorf("the master changed again: %v", err)
	}
}
