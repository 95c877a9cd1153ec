package lock_test

import (
	"flag"
	"testing"
	"time"

	"go.uber.org/goleak"

	"rushgate/lock"
	"rushgate/lock/locktest"
)

func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", "60"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

func TestMemory(t *testing.T) {
	locktest.Run(t, locktest.Factory{
		New:    func(testing.TB) lock.Backend { return lock.NewMemory() },
		Expire: func(_ testing.TB, b lock.Backend, key, owner string) { lock.Expire(b.(*lock.Memory), key, owner) },
	})
}

func TestRedlock(t *testing.T) {
	servers, known := map[lock.Backend][]lock.Backend{}, map[lock.Backend][]*locktest.Server{}
	locktest.Run(t, locktest.Factory{Quorum: true,
		New: func(tb testing.TB) lock.Backend {
			three := []lock.Backend{lock.NewMemory(), lock.NewMemory(), lock.NewMemory()}
			var asked []lock.Backend
			var watched []*locktest.Server
			for _, s := range three {
				watched = append(watched, locktest.NewServer(s))
				asked = append(asked, watched[len(watched)-1])
			}
			r, err := lock.NewRedlock(asked, lock.RedlockOptions{Timeout: 20 * time.Second})
			if err != nil {
				tb.Fatal(err)
			}
			tb.Cleanup(func() { r.Close() })
			servers[r], known[r] = three, watched
			return r
		},
		Servers: func(b lock.Backend) []*locktest.Server { return known[b] },
		Expire: func(_ testing.TB, b lock.Backend, key, owner string) {
			for _, s := range servers[b] {
				lock.Expire(s.(*lock.Memory), key, owner)
			}
		},
	})
}
