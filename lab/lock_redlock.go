package lab

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// lockRedlock takes the lock on three independent Redis, and has it when two of
// them said so in less time than the lease
// (https://redis.io/docs/latest/develop/use/patterns/distributed-locks/). Who
// does not get it gives back what he got, and tries again after a random while,
// so that the next time not everybody has one server and nobody two.
//
// It survives the loss of one of them, which no lock on a single Redis does. It
// does not make a seller that stands still notice that its lease is over, and it
// costs three times the requests. (Martin Kleppmann, "How to do distributed
// locking", 2016, is about the first of these. Package lock's Redlock has fences,
// too; here nobody looks at them, as in the articles.)
func lockRedlock() Way {
	return Way{
		Name: "lock-redlock", Family: Locks, Title: "Redlock over three Redis",
		Why:      "Survives the loss of a Redis, not the pause of a seller: without a fence it writes its old number like all the others.",
		Needs:    []Need{ThreeRedis},
		Promises: Promises{NeverOversells: true, OncePerUser: true, ObeysAdmin: true},
		Open:     openRedlock,
	}
}

func openRedlock(ctx context.Context, p Place) (Seller, error) {
	shop := newRedisShop(p)
	r := redlock{servers: []*redis.Client{shop.db}, lease: p.Lease, release: newScript(releaseLua)}
	for _, addr := range p.Redis[1:redlockServers] {
		r.servers = append(r.servers, openRedisAt(p, addr))
	}
	seller := redlockSeller{lockedShop{redisShop: shop, mutex: r, tries: redlockTries, pause: redlockPause}, r}
	for _, db := range r.servers {
		if err := db.Ping(ctx).Err(); err != nil {
			return nil, errors.Join(err, seller.Close())
		}
	}
	return seller, nil
}

// So many masters; so many tries, and so long between them: those of redsync,
// which most programs in Go use.
const (
	redlockServers = 3
	redlockTries   = 32
)

func redlockPause() time.Duration { return 50*time.Millisecond + rand.N(200*time.Millisecond) }

// redlock is the mutex of a shop.
type redlock struct {
	servers []*redis.Client
	lease   time.Duration
	release script
}

// try asks all servers at once.
func (r redlock) try(ctx context.Context) (func(context.Context) error, error) {
	token, start := newToken(), time.Now()
	got, err := r.count(ctx, func(ctx context.Context, db *redis.Client) (bool, error) {
		return setNX(ctx, db, token, r.lease)
	})
	give := func(ctx context.Context) error {
		_, err := r.count(ctx, func(ctx context.Context, db *redis.Client) (bool, error) {
			err := r.release.Run(ctx, db, []string{keyLock}, token).Err()
			return err == nil, err
		})
		return err
	}
	const most = redlockServers/2 + 1
	drift := r.lease/100 + 2*time.Millisecond // of the servers' clocks, as on Redis' page
	if got >= most && time.Since(start) < r.lease-drift {
		return give, nil
	}
	return nil, errors.Join(err, give(ctx))
}

// count asks all servers at the same time, and counts those that agree. It is an
// error if most of them have none to give.
func (r redlock) count(ctx context.Context, ask func(context.Context, *redis.Client) (bool, error)) (agree int, err error) {
	var mu sync.Mutex
	var all sync.WaitGroup
	var failures []error
	for _, db := range r.servers {
		all.Go(func() {
			yes, err := ask(ctx, db)
			mu.Lock()
			defer mu.Unlock()
			if yes {
				agree++
			}
			if err != nil {
				failures = append(failures, err)
			}
		})
	}
	all.Wait()
	if len(failures) > redlockServers/2 {
		err = errors.Join(failures...)
	}
	return agree, err
}

// redlockSeller is a locked shop that closes its locks, too.
type redlockSeller struct {
	lockedShop
	locks redlock
}

// Close closes everything.
func (s redlockSeller) Close() error {
	err := s.lockedShop.Close()
	for _, db := range s.locks.servers[1:] {
		err = errors.Join(err, db.Close())
	}
	return err
}
