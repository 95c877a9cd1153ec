package redis_test

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"

	"rushgate/internal/testenv"
	"rushgate/once"
	"rushgate/once/redis"
)

// side does one thing, with a number that nobody has used.
type side struct {
	name string
	do   func(ctx context.Context, n uint64) error
}

// BenchmarkOnce measures what package once does against the plain commands that
// people write for it, by 64 callers at a time. The sides take turns, so that the
// machine is the same for all; medians are compared. b.N is the calls of a turn.
func BenchmarkOnce(b *testing.B) {
	const callers, turns = 64, 25
	s := testenv.Redis(b)
	sides := sidesOf(b, s.Addr)
	rates := map[string][]float64{}
	var n uint64
	b.ResetTimer()
	for turn := range turns + 1 {
		for _, side := range sides {
			var all sync.WaitGroup
			began := time.Now()
			each := max(1, b.N/callers)
			for range callers {
				from := n
				n += uint64(each)
				all.Go(func() {
					for i := range each {
						if err := side.do(context.Background(), from+uint64(i)); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			all.Wait()
			if turn > 0 { // the first is a warm-up
				rates[side.name] = append(rates[side.name], float64(each*callers)/time.Since(began).Seconds())
			}
		}
	}
	for _, side := range sides {
		slices.Sort(rates[side.name])
		b.ReportMetric(rates[side.name][turns/2], side.name+"/s")
	}
}

func sidesOf(b *testing.B, addr string) []side {
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{addr}, DisableCache: true})
	if err != nil {
		b.Fatal(err)
	}
	other := goredis.NewClient(&goredis.Options{Addr: addr, PoolSize: 64})
	b.Cleanup(func() { client.Close(); other.Close() })
	sides := []side{
		{"SADD", func(ctx context.Context, n uint64) error {
			return client.Do(ctx, client.B().Sadd().Key("plain:set").Member(strconv.FormatUint(n, 10)).Build()).Error()
		}},
		{"SETNX", func(ctx context.Context, n uint64) error {
			err := client.Do(ctx, client.B().Set().Key("plain:"+strconv.FormatUint(n, 10)).Value("1").Nx().Build()).Error()
			return ignoreNil(err)
		}},
		{"SETBIT", func(ctx context.Context, n uint64) error {
			return client.Do(ctx, client.B().Setbit().Key("plain:bits").Offset(int64(n)).Value(1).Build()).Error()
		}},
		{"goredis-SETNX", func(ctx context.Context, n uint64) error {
			return other.SetNX(ctx, "go:"+strconv.FormatUint(n, 10), "1", 0).Err()
		}},
		{"SETNX+SET", func(ctx context.Context, n uint64) error {
			key := "lock:" + strconv.FormatUint(n, 10)
			if err := client.Do(ctx, client.B().Set().Key(key).Value("busy").Nx().Ex(30*time.Second).Build()).Error(); err != nil {
				return ignoreNil(err)
			}
			return client.Do(ctx, client.B().Set().Key(key).Value("result").Ex(24*time.Hour).Build()).Error()
		}},
		{"GET", func(ctx context.Context, n uint64) error {
			return ignoreNil(client.Do(ctx, client.B().Get().Key("lock:"+strconv.FormatUint(n%1000, 10)).Build()).Error())
		}},
		{"SADD-each-1000", func(ctx context.Context, n uint64) error {
			return thousandth(n, func() error { return sadds(ctx, client, n) })
		}},
	}
	for kind, name := range map[redis.Kind]string{redis.Set: "set", redis.Hash: "hash", redis.Bitmap: "bitmap"} {
		s := benchStore(b, client, redis.Options{Prefix: name + ":", Marks: kind, MaxID: 1<<32 - 1})
		marks, err := once.NewMarks(s)
		if err != nil {
			b.Fatal(err)
		}
		sides = append(sides, side{"First-" + name, func(ctx context.Context, n uint64) error {
			_, err := marks.First(ctx, "s", strconv.FormatUint(n, 10))
			return err
		}}, side{"FirstEach-1000-" + name, func(ctx context.Context, n uint64) error {
			return thousandth(n, func() error {
				_, err := marks.FirstEach(ctx, "many", thousand(n))
				return err
			})
		}})
	}
	order := []string{"SADD", "First-set", "SETNX", "First-hash", "First-bitmap", "SETBIT", "goredis-SETNX", // what is compared is side by side
		"SADD-each-1000", "FirstEach-1000-set", "FirstEach-1000-hash", "FirstEach-1000-bitmap", "SETNX+SET", "Do", "GET", "Do-again", "Apply"}
	sides = append(sides, doing(b, benchStore(b, client, redis.Options{}))...)
	slices.SortStableFunc(sides, func(a, b side) int { return slices.Index(order, a.name) - slices.Index(order, b.name) })
	return sides
}

func benchStore(b *testing.B, client rueidis.Client, o redis.Options) *redis.Store {
	s, err := redis.New(client, o)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(s.Close)
	return s
}

func doing(b *testing.B, s *redis.Store) []side {
	o := node(b, s)
	toggles, err := once.NewToggles(s)
	if err != nil {
		b.Fatal(err)
	}
	work := func(context.Context, once.Attempt) ([]byte, error) { return []byte("result"), nil }
	return []side{
		{"Do", func(ctx context.Context, n uint64) error {
			_, err := o.Do(ctx, strconv.FormatUint(n, 10), work)
			return err
		}},
		{"Do-again", func(ctx context.Context, n uint64) error {
			_, err := o.Do(ctx, "again-"+strconv.FormatUint(n%1000, 10), work)
			return err
		}},
		{"Apply", func(ctx context.Context, n uint64) error {
			_, err := toggles.Apply(ctx, "t", once.Intent{Member: strconv.FormatUint(n, 10), On: true, Seq: 1})
			return err
		}},
	}
}

// thousandth runs a call that stands for a thousand members once in a thousand.
func thousandth(n uint64, do func() error) error {
	if n%1000 != 0 {
		return nil
	}
	return do()
}

func thousand(n uint64) []string {
	members := make([]string, 1000)
	for i := range members {
		members[i] = strconv.FormatUint(n+uint64(i), 10)
	}
	return members
}

// sadds is a pipeline of a thousand SADD: the plain way to learn of each whether it was first.
func sadds(ctx context.Context, client rueidis.Client, n uint64) error {
	commands := make(rueidis.Commands, 1000)
	for i, name := range thousand(n) {
		commands[i] = client.B().Sadd().Key("plain:many").Member(name).Build()
	}
	for _, r := range client.DoMulti(ctx, commands...) {
		if err := r.Error(); err != nil {
			return err
		}
	}
	return nil
}

func ignoreNil(err error) error {
	if rueidis.IsRedisNil(err) {
		return nil
	}
	return err
}
