package redis_test

import (
	"strings"
	"testing"

	"github.com/redis/rueidis"

	"rushgate/internal/testenv"
	"rushgate/lock"
	"rushgate/lock/locktest"
	"rushgate/lock/redis"
)

// After a failover the new master may not know a lock: then its holder loses it,
// and fences go on growing.
func TestAFailover(t *testing.T) {
	t.Parallel() // it waits more than it works
	group, own := testenv.RedisSentinel(t, 1), fresh()
	connect := func(opts lock.Options) *lock.Locker {
		c, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: group.Addrs(), DisableCache: true,
			Sentinel: rueidis.SentinelOption{MasterSet: group.Name}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		b, err := redis.New(c, own)
		if err != nil {
			t.Fatal(err)
		}
		return locker(t, b, opts)
	}
	a, b := connect(short()), connect(lock.Options{})
	h := locktest.Take(t, a, "k")
	old, err := group.Master()
	if err != nil {
		t.Fatal(err)
	}
	old.Kill()
	locktest.Lost(t, h) // it takes longer than a lease
	if _, err := group.MasterAfter(old); err != nil {
		t.Fatal(err)
	}
	locktest.After(t, h, b)
}

func TestACluster(t *testing.T) {
	t.Parallel() // it waits more than it works
	group := testenv.RedisCluster(t, 3, 0)
	c, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: group.Addrs(), DisableCache: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	b, err := redis.New(c, fresh())
	if err != nil {
		t.Fatal(err)
	}
	l, m := locker(t, b, lock.Options{}), locker(t, b, lock.Options{})
	keys := strings.Fields("a b c d e f g h i j")
	all, err := l.LockAll(t.Context(), keys)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		again, err := m.LockAll(t.Context(), keys)
		if err == nil {
			err = again.Unlock(t.Context())
		}
		done <- err
	}()
	if err := all.Unlock(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}
