package lab

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// lockIncrExpire is the oldest lock on Redis: whoever counts to one has it, and
// sets an expiry in a second command. A holder that dies between the two leaves
// a lock for ever, so everybody else looks for locks without an expiry and gives
// them one.
//
// Nobody knows whose the lock is. A holder that was slower than the expiry
// deletes the lock of the next one, whose lock is then nobody's, and so on: one
// pause, and there are two in the shop for a long time.
func lockIncrExpire() Way {
	return lockedWay(Way{
		Name: "lock-incr-expire", Title: "lock: INCR and EXPIRE, missing expiry repaired",
		Why:      "Without an owner everybody deletes everybody's lock. One pause beyond the expiry, and two sell at the same time.",
		Promises: Promises{NeverOversells: true, OncePerUser: true, ObeysAdmin: true},
	}, func(db *redis.Client, lease time.Duration) mutex { return incrExpireLock{db, lease} })
}

type incrExpireLock struct {
	db    *redis.Client
	lease time.Duration
}

func (l incrExpireLock) try(ctx context.Context) (func(context.Context) error, error) {
	n, err := l.db.Incr(ctx, keyLock).Result()
	if err != nil {
		return nil, err
	}
	if n == 1 {
		return l.release, l.db.PExpire(ctx, keyLock, l.lease).Err()
	}
	ttl, err := l.db.PTTL(ctx, keyLock).Result()
	if err == nil && ttl == -1 { // it has no expiry: its holder may be dead
		err = l.db.PExpire(ctx, keyLock, l.lease).Err()
	}
	return nil, err
}

func (l incrExpireLock) release(ctx context.Context) error { return l.db.Del(ctx, keyLock).Err() }

// lockedWay is what the ways with locks of the articles have in common.
func lockedWay(w Way, newMutex func(*redis.Client, time.Duration) mutex) Way {
	w.Family = Locks
	w.Needs = []Need{Redis}
	w.Open = func(_ context.Context, p Place) (Seller, error) {
		shop := newRedisShop(p)
		return lockedShop{redisShop: shop, mutex: newMutex(shop.db, p.Lease), tries: lockTries, pause: lockPause}, nil
	}
	return w
}
