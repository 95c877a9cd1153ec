package lab

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
)

// lockCheckDel is SET NX PX, one command for lock and expiry, with a random
// token of the owner. To release it, the owner looks whether the token is still
// its own and then deletes the lock.
//
// Between the look and the deletion the lock can expire and become somebody
// else's: then that one is deleted. (And a holder whose lock has expired goes on
// selling, like all holders of locks without a fence.)
func lockCheckDel() Way {
	return lockedWay(Way{
		Name: "lock-check-del", Title: "lock: SET NX PX, owner checked, then DEL",
		Why:      "Check and deletion are two steps, so it can delete another's lock; and a holder whose lock expired in a pause goes on selling.",
		Promises: Promises{NeverOversells: true, OncePerUser: true, ObeysAdmin: true},
	}, func(db *redis.Client, lease time.Duration) mutex { return checkDelLock{db, lease} })
}

type checkDelLock struct {
	db    *redis.Client
	lease time.Duration
}

func (l checkDelLock) try(ctx context.Context) (func(context.Context) error, error) {
	token := newToken()
	got, err := setNX(ctx, l.db, token, l.lease)
	if err != nil || !got {
		return nil, err
	}
	return func(ctx context.Context) error {
		owner, err := l.db.Get(ctx, keyLock).Result()
		if errors.Is(err, redis.Nil) {
			return nil
		}
		if err != nil || owner != token {
			return err
		}
		return l.db.Del(ctx, keyLock).Err()
	}, nil
}

// setNX takes the lock for a lease if nobody has it.
func setNX(ctx context.Context, db redis.Cmdable, token string, lease time.Duration) (bool, error) {
	err := db.SetArgs(ctx, keyLock, token, redis.SetArgs{Mode: "NX", TTL: lease}).Err()
	if errors.Is(err, redis.Nil) {
		return false, nil
	}
	return err == nil, err
}
