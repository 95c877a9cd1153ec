package locks_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	goredislib "github.com/go-redsync/redsync/v4/redis/goredis/v9"
	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"

	"rushgate/internal/testenv"
	"rushgate/lock"
	"rushgate/lock/redis"
)

// lease is that of all systems.
const lease = 10 * time.Second

// retry is how often those ask who do not hear: often enough that it is not
// what they are measured by. Their own defaults are 50 to 250 ms and never.
const retry = time.Millisecond

// taker takes a lock, waits for it, and returns how to give it back.
type taker func(ctx context.Context, key string) (unlock func(context.Context) error, err error)

// system is one library with its client.
type system struct {
	name string
	take taker
}

func systems(b *testing.B, addr string) []system {
	return []system{ours(b, addr), redsyncs(b, addr), bsm(b, addr), bsmFenced(b, addr)}
}

func ours(b *testing.B, addr string) system { return lockedBy(b, inRedis(b, addr)) }

func inRedis(b *testing.B, addr string) lock.Backend {
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{addr}, DisableCache: true})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(client.Close)
	backend, err := redis.New(client, redis.Options{})
	if err != nil {
		b.Fatal(err)
	}
	return backend
}

// lockedBy is our locks, on whatever keeps them.
func lockedBy(b *testing.B, backend lock.Backend) system {
	l, err := lock.New(backend, lock.Options{Lease: lease})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { l.Close() })
	return system{"rushgate", func(ctx context.Context, key string) (func(context.Context) error, error) {
		h, err := l.Lock(ctx, key)
		if err != nil {
			return nil, err
		}
		return h.Unlock, nil
	}}
}

func classic(b *testing.B, addr string) *goredis.Client {
	c := goredis.NewClient(&goredis.Options{Addr: addr})
	b.Cleanup(func() { c.Close() })
	return c
}

func redsyncs(b *testing.B, addr string) system {
	rs := redsync.New(goredislib.NewPool(classic(b, addr)))
	return system{"redsync", func(ctx context.Context, key string) (func(context.Context) error, error) {
		m := rs.NewMutex("redsync:"+key, redsync.WithExpiry(lease), redsync.WithTries(1<<30), redsync.WithRetryDelay(retry))
		if err := m.LockContext(ctx); err != nil {
			return nil, err
		}
		return func(ctx context.Context) error {
			_, err := m.UnlockContext(ctx)
			return err
		}, nil
	}}
}

func bsm(b *testing.B, addr string) system {
	l := redislock.New(classic(b, addr))
	return system{"bsm", func(ctx context.Context, key string) (func(context.Context) error, error) {
		h, err := l.Obtain(ctx, "bsm:"+key, lease, &redislock.Options{RetryStrategy: redislock.LinearBackoff(retry)})
		if err != nil {
			return nil, err
		}
		return h.Release, nil
	}}
}

// bsmFenced gives bsm's locks what ours have and they lack: a number that grows
// with every holder, in the request that it takes.
func bsmFenced(b *testing.B, addr string) system {
	plain, c := bsm(b, addr), classic(b, addr)
	return system{"bsm+fence", func(ctx context.Context, key string) (func(context.Context) error, error) {
		unlock, err := plain.take(ctx, key)
		if err != nil {
			return nil, err
		}
		return unlock, c.Incr(ctx, "fence:"+key).Err()
	}}
}

// measured is how long each system runs in each load, after a short warm-up.
const (
	measured = time.Second
	warmup   = 100 * time.Millisecond
)

// load is how many want how many keys.
type load struct {
	name          string
	workers, keys int
}

// BenchmarkLocks measures locks in Redis.
func BenchmarkLocks(b *testing.B) {
	loads(b, systems(b, testenv.Redis(b).Addr), []load{{"uncontended=1", 1, 1}, {"uncontended=64", 64, 64}, {"contended=16", 16, 1}})
}

// loads runs every system under every load, b.N times, and reports the sum over
// the time. Beside the locks taken and given back in a second it counts how often
// another goroutine had the key before: where those who wait only ask now and
// then, whoever unlocks mostly gets the lock again.
func loads(b *testing.B, those []system, all []load) {
	for _, load := range all {
		for _, s := range those {
			b.Run(load.name+"/"+s.name, func(b *testing.B) {
				run(b, s, load.workers, load.keys, warmup)
				var sum tally
				b.ResetTimer()
				for range b.N {
					sum.add(run(b, s, load.workers, load.keys, measured))
				}
				b.ReportMetric(float64(sum.locks)/sum.took.Seconds(), "locks/s")
				b.ReportMetric(float64(sum.hands)/sum.took.Seconds(), "hands/s")
				b.ReportMetric(float64(sum.worst.Microseconds())/1000, "worst-ms")
			})
		}
	}
}

// tally is what a run counted.
type tally struct {
	locks, hands int64
	worst        time.Duration // from asking for a lock to giving it back
	took         time.Duration
}

func (t *tally) add(o tally) {
	t.locks, t.hands, t.took = t.locks+o.locks, t.hands+o.hands, t.took+o.took
	t.worst = max(t.worst, o.worst)
}

// guarded is what a lock is for: only its holder touches it.
type guarded struct {
	inside atomic.Int64
	last   int // who had it
	tally
}

// run takes and gives back locks for some time.
func run(b *testing.B, s system, workers, keys int, d time.Duration) (sum tally) {
	ctx, cancel := context.WithTimeout(b.Context(), time.Minute)
	defer cancel()
	var all sync.WaitGroup
	those := make([]guarded, keys)
	began := time.Now()
	for w := range workers {
		all.Go(func() {
			key, g := fmt.Sprintf("k%d", w%keys), &those[w%keys]
			for time.Since(began) < d {
				asked := time.Now()
				unlock, err := s.take(ctx, key)
				if err != nil {
					b.Error(err)
					return
				}
				if g.inside.Add(1) != 1 {
					b.Error("two at once")
				}
				g.enter(w, asked)
				g.inside.Add(-1)
				if err := unlock(ctx); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	for i := range those {
		sum.add(those[i].tally)
	}
	sum.took = time.Since(began)
	return sum
}

func (g *guarded) enter(who int, asked time.Time) {
	g.locks++
	if g.last != who {
		g.hands++
	}
	g.last, g.worst = who, max(g.worst, time.Since(asked))
}
