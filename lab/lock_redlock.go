package lab

import (
	"context"
	"errors"
	"time"

	"github.com/redis/rueidis"

	"rushgate/lock"
	redislock "rushgate/lock/redis"
)

// lockRedlock takes the lock on three independent Redis, and has it when two of
// them say so (https://redis.io/docs/latest/develop/use/patterns/distributed-locks/).
//
// It survives the loss of one of them, which no lock on a single Redis does. It
// does not make a seller that stands still notice that its lease is over, and it
// costs three times the requests; and when many want it at the same time, some
// have one server each and nobody has two. (Martin Kleppmann, "How to do
// distributed locking", 2016, is about the first of these. Package lock's Redlock
// has fences, too; here nobody looks at them, as in the articles.)
func lockRedlock() Way {
	return Way{
		Name: "lock-redlock", Family: Locks, Title: "Redlock over three Redis",
		Why:      "Survives the loss of a Redis, not the pause of a seller: without a fence it writes its old number like all the others.",
		Needs:    []Need{ThreeRedis},
		Promises: Promises{NeverOversells: true, OncePerUser: true, ObeysAdmin: true},
		Open:     func(_ context.Context, p Place) (Seller, error) { return openRedlock(p) },
	}
}

func openRedlock(p Place) (_ Seller, err error) {
	r := &redlock{}
	timeout := min(p.Lease*2/5, time.Second) // of an exchange with the lock, which is two with each server
	defer func() {
		if err != nil {
			_ = r.close()
		}
	}()
	var servers []lock.Backend
	for _, addr := range p.Redis[:3] {
		client, err := openRueidis(p, addr)
		if err != nil {
			return nil, err
		}
		r.clients = append(r.clients, client)
		server, err := redislock.New(client, redislock.Options{Prefix: "rushgate-lab:locks:"})
		if err != nil {
			return nil, err
		}
		servers = append(servers, server)
	}
	if r.quorum, err = lock.NewRedlock(servers, lock.RedlockOptions{Timeout: timeout * 2 / 5}); err != nil {
		return nil, err
	}
	if r.locker, err = lock.New(r.quorum, lock.Options{Lease: p.Lease, Timeout: timeout, MaxWait: lockTries * lockPause * 5}); err != nil {
		return nil, err
	}
	return redlockSeller{lockedShop{redisShop: newRedisShop(p), mutex: r, tries: 1}, r}, nil
}

// redlock is the mutex of a shop.
type redlock struct {
	clients []rueidis.Client
	quorum  *lock.Redlock
	locker  *lock.Locker
}

func (r *redlock) try(ctx context.Context) (func(context.Context) error, error) {
	held, err := r.locker.Lock(ctx, "stock", lock.WithoutRenewal())
	if errors.Is(err, lock.ErrTimeout) || errors.Is(err, lock.ErrUnavailable) {
		return nil, nil // others have it all the time, or no two servers agree
	}
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		_ = held.Unlock(ctx) // if it was lost, the order is written all the same
		return nil
	}, nil
}

func (r *redlock) close() error {
	var err error
	if r.locker != nil {
		err = r.locker.Close()
	}
	if r.quorum != nil {
		err = errors.Join(err, r.quorum.Close())
	}
	for _, c := range r.clients {
		c.Close()
	}
	return err
}

// redlockSeller is a locked shop that closes its locks, too.
type redlockSeller struct {
	lockedShop
	locks *redlock
}

// Close closes everything.
func (s redlockSeller) Close() error { return errors.Join(s.locks.close(), s.lockedShop.Close()) }
