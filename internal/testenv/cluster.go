package testenv

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
)

// ClusterGroup is a private Redis Cluster.
type ClusterGroup struct {
	group
	Servers []*RedisServer // the masters of the start, then their replicas in turn
	masters int
}

// clusterSlots is how many slots the keys of a cluster are hashed to (CRC16 of
// the hash tag, modulo).
const clusterSlots = 16384

// RedisCluster starts a cluster that ends with the test: so many masters, which
// have equal shares of the slots in order, and so many replicas for each. There
// are failovers only with three masters or more. Settings are for all servers.
func RedisCluster(t testing.TB, masters, replicasEach int, settings ...string) *ClusterGroup {
	t.Helper()
	g, err := StartRedisCluster(t.TempDir(), masters, replicasEach, settings...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Stop)
	return g
}

// StartRedisCluster starts a cluster in dir and returns when all servers take
// it for complete. The caller stops it.
func StartRedisCluster(dir string, masters, replicasEach int, settings ...string) (*ClusterGroup, error) {
	g := &ClusterGroup{group: group{dir: dir}, masters: masters}
	for _, step := range []func() error{
		func() error { return g.begin(masters+masters*replicasEach, settings) },
		g.meet, g.share, g.copy,
		func() error { return until(agreement, nil, g.Complete) },
	} {
		if err := step(); err != nil {
			g.Stop()
			return nil, err
		}
	}
	return g, nil
}

func (g *ClusterGroup) begin(servers int, settings []string) error {
	for range servers {
		_, err := g.add(func(dir string) (*RedisServer, error) {
			// The servers' own port is by default 10,000 above the clients', and then
			// among the ports of outgoing connections.
			bus, err := freePort()
			if err != nil {
				return nil, err
			}
			cluster := []string{"cluster-enabled yes", "cluster-node-timeout 2000", "cluster-port " + strconv.Itoa(bus)}
			return StartRedis(dir, append(cluster, settings...)...)
		})
		if err != nil {
			return err
		}
	}
	g.Servers = g.servers
	return nil
}

// meet makes everybody known to everybody. Each has an epoch of its own before,
// so that they need not fight for one.
func (g *ClusterGroup) meet() error {
	for i, s := range g.Servers {
		if _, err := s.ask("CLUSTER", "SET-CONFIG-EPOCH", strconv.Itoa(i+1)); err != nil {
			return err
		}
	}
	for _, s := range g.Servers {
		for _, other := range g.Servers {
			bus, err := other.ask("CONFIG", "GET", "cluster-port")
			if err != nil {
				return err
			}
			_, bus, _ = strings.Cut(bus, "\n")
			if _, err := s.ask("CLUSTER", "MEET", "127.0.0.1", strconv.Itoa(other.port), bus); err != nil {
				return err
			}
		}
	}
	return until(agreement, nil, func() error {
		return g.all("cluster_known_nodes", strconv.Itoa(len(g.Servers)))
	})
}

// share gives each master its slots.
func (g *ClusterGroup) share() error {
	for i, s := range g.Servers[:g.masters] {
		first, last := i*clusterSlots/g.masters, (i+1)*clusterSlots/g.masters-1
		if _, err := s.ask("CLUSTER", "ADDSLOTSRANGE", strconv.Itoa(first), strconv.Itoa(last)); err != nil {
			return err
		}
	}
	return until(agreement, nil, func() error { return g.all("cluster_slots_ok", strconv.Itoa(clusterSlots)) })
}

// copy makes replicas of the other servers.
func (g *ClusterGroup) copy() error {
	for i, s := range g.Servers[g.masters:] {
		id, err := g.Servers[i%g.masters].ask("CLUSTER", "MYID")
		if err != nil {
			return err
		}
		if _, err := s.ask("CLUSTER", "REPLICATE", id); err != nil {
			return err
		}
	}
	for _, s := range g.Servers[g.masters:] {
		if err := until(agreement, nil, s.copied); err != nil {
			return err
		}
	}
	return nil
}

// Complete is an error unless every server that runs says that the cluster
// serves all slots, and they agree on who is a master of which slots and who a
// replica of whom.
func (g *ClusterGroup) Complete() error {
	if err := g.all("cluster_state", "ok"); err != nil {
		return err
	}
	_, err := agreed(g.Servers, func(s *RedisServer) (string, error) {
		nodes, err := s.nodes()
		return strings.Join(nodes.roles(), "\n"), err
	})
	return err
}

// all is an error unless every server that runs gives a fact the same value.
func (g *ClusterGroup) all(fact, want string) error {
	got, err := agreed(g.Servers, func(s *RedisServer) (string, error) {
		text, err := s.ask("CLUSTER", "INFO")
		return facts(text)[fact], err
	})
	if err == nil && got != want {
		err = fmt.Errorf("all servers say %s:%s, want %s", fact, got, want)
	}
	return err
}

// Addrs returns the addresses of all servers, of which a client is given some.
func (g *ClusterGroup) Addrs() []string {
	var addrs []string
	for _, s := range g.Servers {
		addrs = append(addrs, s.Addr)
	}
	return addrs
}

// Owner returns the master of a slot, as soon as all servers that run agree on
// it and serve all slots.
func (g *ClusterGroup) Owner(slot int) (*RedisServer, error) { return g.OwnerAfter(slot, nil) }

// OwnerAfter returns the master of a slot that came after another one, as soon
// as all servers that run agree on it and serve all slots.
func (g *ClusterGroup) OwnerAfter(slot int, old *RedisServer) (owner *RedisServer, err error) {
	err = until(agreement, nil, func() error {
		if err := g.Complete(); err != nil {
			return err
		}
		addr, err := agreed(g.Servers, func(s *RedisServer) (string, error) {
			nodes, err := s.nodes()
			return nodes.owner(slot), err
		})
		if err != nil {
			return err
		}
		if owner, err = g.at(addr); err == nil && owner == old {
			err = fmt.Errorf("%s is still the master of slot %d", addr, slot)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return owner, nil
}
