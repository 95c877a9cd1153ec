package lab

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// lockGetSet is the lock that Redis' own pages of SETNX once showed: the value is
// when the lock ends, by the clock of whoever took it. If it is over, everybody
// swaps in a new end by GETSET, and the one who gets the old end back has it.
//
// It needs no expiry in Redis and survives dead holders. But it trusts that all
// machines have the same time; those who lose the swap have moved the winner's
// end; and a holder that stood still goes on as if nothing had happened.
func lockGetSet() Way {
	return lockedWay(Way{
		Name: "lock-getset", Title: "lock: SETNX with a timestamp, GETSET takeover",
		Why:      "Survives dead holders, on the clocks of the sellers. A holder that stood still goes on writing beside the one who took over.",
		Promises: Promises{NeverOversells: true, OncePerUser: true, ObeysAdmin: true},
	}, func(db *redis.Client, lease time.Duration) mutex { return getSetLock{db, lease} })
}

type getSetLock struct {
	db    *redis.Client
	lease time.Duration
}

func (l getSetLock) try(ctx context.Context) (func(context.Context) error, error) {
	ends := time.Now().Add(l.lease).UnixMilli()
	first, err := l.db.SetNX(ctx, keyLock, ends, 0).Result()
	if err != nil {
		return nil, err
	}
	if first {
		return l.releaseUntil(ends), nil
	}
	was, err := l.db.Get(ctx, keyLock).Int64()
	if errors.Is(err, redis.Nil) {
		return nil, nil // just released
	}
	if err != nil || time.Now().UnixMilli() < was {
		return nil, err
	}
	got, err := l.db.Do(ctx, "GETSET", keyLock, ends).Text() // as in the articles; today it is SET with GET
	if err != nil && !errors.Is(err, redis.Nil) {
		return nil, err
	}
	if got != strconv.FormatInt(was, 10) {
		return nil, nil // somebody else was faster, and now has our end
	}
	return l.releaseUntil(ends), nil
}

// releaseUntil deletes the lock, unless it has ended by itself.
func (l getSetLock) releaseUntil(ends int64) func(context.Context) error {
	return func(ctx context.Context) error {
		if time.Now().UnixMilli() >= ends {
			return nil
		}
		return l.db.Del(ctx, keyLock).Err()
	}
}
