package locks_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	goredislib "github.com/go-redsync/redsync/v4/redis/goredis/v9"
	goredis "github.com/redis/go-redis/v9"

	"rushgate/internal/testenv"
	"rushgate/lock"
)

// BenchmarkRedlock measures locks over three independent Redis. Redsync asks as
// it does by default, 50 to 250 ms apart: asking more often, its callers would
// have one server each and nobody two.
func BenchmarkRedlock(b *testing.B) {
	var addrs []string
	for range 3 {
		addrs = append(addrs, testenv.Redis(b).Addr)
	}
	loads(b, []system{redlock(b, addrs), redsyncOver(b, addrs), redsyncFenced(b, addrs)}, []load{{"uncontended=1", 1, 1}, {"contended=4", 4, 1}, {"contended=64", 64, 1}})
}

func redlock(b *testing.B, addrs []string) system {
	var servers []lock.Backend
	for _, addr := range addrs {
		servers = append(servers, inRedis(b, addr))
	}
	quorum, err := lock.NewRedlock(servers, lock.RedlockOptions{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { quorum.Close() })
	return lockedBy(b, quorum)
}

func redsyncOver(b *testing.B, addrs []string) system {
	var pools []redsyncredis.Pool
	for _, addr := range addrs {
		pools = append(pools, goredislib.NewPool(classic(b, addr)))
	}
	rs := redsync.New(pools...)
	return system{"redsync", func(ctx context.Context, key string) (func(context.Context) error, error) {
		m := rs.NewMutex("redsync:"+key, redsync.WithExpiry(lease), redsync.WithTries(1<<30))
		if err := m.LockContext(ctx); err != nil {
			return nil, err
		}
		return func(ctx context.Context) error {
			_, err := m.UnlockContext(ctx)
			return err
		}, nil
	}}
}

// redsyncFenced gives redsync's locks a number that grows with every holder, as
// ours have: the greatest of a counter on each server. (That is the least it
// takes. It would have to be written back to a majority, as ours is.)
func redsyncFenced(b *testing.B, addrs []string) system {
	plain := redsyncOver(b, addrs)
	var clients []*goredis.Client
	for _, addr := range addrs {
		clients = append(clients, classic(b, addr))
	}
	return system{"redsync+fence", func(ctx context.Context, key string) (func(context.Context) error, error) {
		unlock, err := plain.take(ctx, key)
		if err != nil {
			return nil, err
		}
		var all sync.WaitGroup
		counted := make([]error, len(clients))
		for i, c := range clients {
			all.Go(func() { counted[i] = c.Incr(ctx, "fence:"+key).Err() })
		}
		all.Wait()
		return unlock, errors.Join(counted...)
	}}
}
