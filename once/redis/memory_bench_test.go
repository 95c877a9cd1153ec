package redis_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/redis/rueidis"

	"rushgate/internal/testenv"
	"rushgate/once"
	"rushgate/once/redis"
)

// BenchmarkMemory measures what a million users take in Redis, kind by kind:
//
//	go test -run '^$' -bench Memory -benchtime 1x ./once/redis
//
// Toggles and records are counted with a quarter of a million, times four: the
// tables of Redis are then filled to the same degree.
func BenchmarkMemory(b *testing.B) {
	ids := map[string]func(int) string{
		"dense":  strconv.Itoa,
		"random": func(i int) string { return strconv.FormatUint(rand.New(rand.NewPCG(uint64(i), 1)).Uint64()>>1, 10) },
		"string": func(i int) string { return fmt.Sprintf("user-%08x-%04d@example.com", uint32(i)*2654435761, i%10000) },
	}
	for _, kind := range []string{"set", "hash", "hash+tag", "bitmap", "toggles", "records"} {
		for _, name := range []string{"dense", "random", "string"} {
			if kind == "bitmap" && name != "dense" {
				continue // it takes dense ids only
			}
			b.Run(kind+"/"+name, func(b *testing.B) {
				s := testenv.Redis(b)
				o := redis.Options{Marks: map[string]redis.Kind{"hash": redis.Hash, "hash+tag": redis.Hash, "bitmap": redis.Bitmap}[kind]}
				store := open(b, s.Addr, o)
				client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{s.Addr}})
				if err != nil {
					b.Fatal(err)
				}
				defer client.Close()
				before := used(b, client)
				n := fill(b, store, kind, ids[name])
				b.ReportMetric(float64(used(b, client)-before)/float64(n), "MB/million")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

// fill puts users into a store, and returns how many.
func fill(b *testing.B, s *redis.Store, kind string, id func(int) string) int {
	ctx, n := b.Context(), 250_000
	var each func(i int) error
	switch o := node(b, s); kind {
	case "toggles":
		toggles, _ := once.NewToggles(s)
		each = func(i int) error {
			_, err := toggles.Apply(ctx, "s", once.Intent{Member: id(i), On: true, Seq: 1763740800000000 + int64(i)})
			return err
		}
	case "records":
		each = func(i int) error {
			_, err := o.Do(ctx, id(i), func(context.Context, once.Attempt) ([]byte, error) { return []byte("ok"), nil })
			return err
		}
	default:
		n = 1_000_000
		for from := 0; from < n; from += once.MaxMembers {
			members := make([]string, once.MaxMembers)
			for i := range members {
				members[i] = id(from + i)
			}
			slices.Sort(members)
			tag := map[bool]string{true: "0193a8b4c2d07"}[strings.HasSuffix(kind, "tag")]
			if err := s.Mark(ctx, "s", tag, members, make([]bool, len(members))); err != nil {
				b.Fatal(err)
			}
		}
		return n
	}
	const callers = 64
	var all sync.WaitGroup
	for c := range callers {
		all.Go(func() {
			for i := c; i < n; i += callers {
				if err := each(i); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	return n
}

// used is what Redis says its data take, without what its clients do.
func used(b *testing.B, client rueidis.Client) int64 {
	info, err := client.Do(b.Context(), client.B().MemoryStats().Build()).AsMap()
	if err != nil {
		b.Fatal(err)
	}
	m := info["dataset.bytes"]
	dataset, err := m.AsInt64()
	if err != nil {
		b.Fatal(err)
	}
	return dataset + overhead(b, info)
}

// overhead is what the table of all keys takes: Redis counts it apart.
func overhead(b *testing.B, info map[string]rueidis.RedisMessage) (sum int64) {
	db, ok := info["db.0"]
	if !ok {
		return 0
	}
	of, err := db.AsMap()
	if err != nil {
		b.Fatal(err)
	}
	for _, name := range []string{"overhead.hashtable.main", "overhead.hashtable.expires"} {
		m := of[name]
		n, err := m.AsInt64()
		if err != nil {
			b.Fatal(err)
		}
		sum += n
	}
	return sum
}
