package lab

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// lockLuaRelease is what Redis' pages show today: SET NX PX with a random token,
// released by a script that looks and deletes in one step
// (https://redis.io/docs/latest/commands/set/).
//
// Nobody deletes another's lock any more. It is a right lock, and still no
// guard: a seller that stands still inside for longer than the lease wakes up,
// does not know it, and writes what it read long ago over what was sold since.
// No lock can help that by itself; the writes have to be fenced.
func lockLuaRelease() Way {
	return lockedWay(Way{
		Name: "lock-lua-release", Title: "lock: SET NX PX, released by a script",
		Why:      "The right lock, and no guard: whoever stood still for longer than the lease writes its old number over all that was sold since.",
		Promises: Promises{NeverOversells: true, OncePerUser: true, ObeysAdmin: true},
	}, func(db *redis.Client, lease time.Duration) mutex {
		return luaReleaseLock{db: db, lease: lease, release: newScript(releaseLua)}
	})
}

const releaseLua = `
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0`

type luaReleaseLock struct {
	db      *redis.Client
	lease   time.Duration
	release script
}

func (l luaReleaseLock) try(ctx context.Context) (func(context.Context) error, error) {
	token := newToken()
	got, err := setNX(ctx, l.db, token, l.lease)
	if err != nil || !got {
		return nil, err
	}
	return func(ctx context.Context) error {
		return l.release.Run(ctx, l.db, []string{keyLock}, token).Err()
	}, nil
}
