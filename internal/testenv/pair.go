package testenv

import (
	"net"
	"testing"
)

// PairGroup is a Redis and its replica behind one address, which leads to the
// one that is master: as clouds offer them, and as Redis is run behind a virtual
// address. Replication is asynchronous, as it always is.
type PairGroup struct {
	Addr string // host:port, for clients

	group
	master, replica *RedisServer
	clients, link   *Proxy // what clients dial, and what the replica does
}

// RedisPair starts a pair that ends with the test.
func RedisPair(t testing.TB, settings ...string) *PairGroup {
	t.Helper()
	p, err := StartRedisPair(t.TempDir(), settings...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Stop)
	return p
}

// StartRedisPair starts a pair in dir, and returns when the replica has copied
// its master. The caller stops it.
func StartRedisPair(dir string, settings ...string) (_ *PairGroup, err error) {
	p := &PairGroup{group: group{dir: dir}}
	defer func() {
		if err != nil {
			p.Stop()
		}
	}()
	p.master, err = p.add(func(dir string) (*RedisServer, error) { return StartRedis(dir, settings...) })
	if err != nil {
		return nil, err
	}
	if p.link, err = StartProxy(p.master.Addr); err != nil {
		return nil, err
	}
	_, port, err := net.SplitHostPort(p.link.Addr)
	if err != nil {
		return nil, err
	}
	p.replica, err = p.add(func(dir string) (*RedisServer, error) {
		return StartRedisReplica(dir, p.master, append(settings, "replicaof 127.0.0.1 "+port)...)
	})
	if err != nil {
		return nil, err
	}
	if p.clients, err = StartProxy(p.master.Addr); err != nil {
		return nil, err
	}
	p.Addr = p.clients.Addr
	return p, nil
}

// Agree returns when the replica has heard of all that was written until now: it
// hears of it later, and on a busy machine much later.
func (p *PairGroup) Agree() error {
	return until(agreement, nil, func() error { return heard(p.master) })
}

// Lag holds back what the master writes from now on: its replica falls behind.
func (p *PairGroup) Lag() { p.link.Hold(ToClient) }

// FailOver kills the master and promotes the replica, which has what it had
// heard; the rest is lost, as the master never comes back. Clients are cut off,
// and find it at the same address.
func (p *PairGroup) FailOver() error {
	p.master.Kill()
	p.link.Close()
	err := p.replica.Promote()
	p.clients.Lead(p.replica.Addr)
	p.clients.Cut()
	return err
}

// Stop ends both. It may be called again.
func (p *PairGroup) Stop() {
	for _, proxy := range []*Proxy{p.clients, p.link} {
		if proxy != nil {
			proxy.Close()
		}
	}
	p.group.Stop()
}
