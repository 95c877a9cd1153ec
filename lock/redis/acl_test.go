package redis_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"rushgate/internal/testenv"
	"rushgate/lock"
	"rushgate/lock/locktest"
	"rushgate/lock/redis"
)

// restricted returns a backend whose user lacks something.
func restricted(t *testing.T, own *testenv.RedisServer, lacks ...string) lock.Backend {
	t.Helper()
	admin := client(t, own.Addr)
	rules := append([]string{"on", "nopass", "~*", "+@all", "&*"}, lacks...)
	if err := admin.Do(t.Context(), admin.B().AclSetuser().Username("app").Rule(rules...).Build()).Error(); err != nil {
		t.Fatal(err)
	}
	c, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{own.Addr}, Username: "app", Password: "any", DisableCache: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	b, err := redis.New(c, redis.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// A user that may not subscribe, or not use the channels, makes waits slow, and is
// told so. Nothing else suffers.
func TestAUserWithoutTheRightToHear(t *testing.T) {
	for lacks, word := range map[string]string{"-subscribe": "subscribe", "resetchannels": "channel"} {
		t.Run(lacks, func(t *testing.T) {
			t.Parallel() // it waits more than it works
			deaf := make(chan error, 100)
			b := restricted(t, testenv.Redis(t), lacks)
			l := locker(t, b, lock.Options{Deaf: func(err error) { deaf <- err }})
			h := locktest.Take(t, l, "k")
			next := []lock.Claim{{Key: "k", Owner: "next", Token: "node.1", Need: 1, Limit: 1, Lease: time.Minute, Line: lock.MaxLine}}
			if a := b.Acquire(t.Context(), next[0]); a.State != lock.Waiting {
				t.Fatal(a)
			}
			if _, err := l.Lock(t.Context(), "k", lock.WithMaxWait(time.Second)); !errors.Is(err, lock.ErrTimeout) {
				t.Fatal(err)
			}
			if err := <-deaf; !strings.Contains(err.Error(), "NOPERM") {
				t.Fatal(err)
			}
			_, err := l.Lock(t.Context(), "k", lock.WithMaxWait(time.Second)) // the first may have been too short to know why
			if !errors.Is(err, lock.ErrTimeout) || !strings.Contains(err.Error(), "NOPERM") || !strings.Contains(err.Error(), word) {
				t.Fatalf("the error of a wait is %v", err)
			}
			locktest.Unlock(t, h)
			if a := b.Renew(t.Context(), next)[0]; a.State != lock.Granted {
				t.Fatal(a)
			}
			if a := b.Release(t.Context(), next)[0]; a.State != lock.Granted {
				t.Fatal(a)
			}
			locktest.Unlock(t, locktest.Take(t, l, "k"))
			if len(deaf) > 0 {
				t.Fatalf("told once more: %v", <-deaf)
			}
		})
	}
}
