package redis_test

import (
	"flag"
	"fmt"
	"os"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/redis/rueidis"
	"go.uber.org/goleak"

	"rushgate/internal/testenv"
	"rushgate/once"
	"rushgate/once/oncetest"
	"rushgate/once/redis"
)

// server is the Redis of all tests that do it no harm.
var server = testenv.SharedRedis()

// prefixes keeps the tests apart.
var prefixes atomic.Int64

func TestMain(m *testing.M) {
	if where := oncetest.Child(); where != "" {
		os.Exit(childMain(where))
	}
	if err := flag.Set("rapid.checks", "40"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(server.Around(m))
}

func prefix() string { return fmt.Sprintf("t%d:", prefixes.Add(1)) }

// open returns a store that ends with the test.
func open(tb testing.TB, addr string, o redis.Options) *redis.Store {
	tb.Helper()
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{addr}})
	if err != nil {
		tb.Fatal(err)
	}
	s, err := redis.New(client, o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		s.Close()
		client.Close()
	})
	return s
}

// factory makes nodes with a client each.
func factory(o redis.Options) oncetest.Factory {
	return oncetest.Factory{New: func(tb testing.TB, n int) []oncetest.Backend {
		o := o
		o.Prefix = prefix()
		nodes := make([]oncetest.Backend, n)
		for i := range nodes {
			nodes[i] = open(tb, server.Server(tb).Addr, o)
		}
		return nodes
	}, Tagless: o.Marks != redis.Hash, MarksOnly: o.Marks != redis.Set}
}

func TestSet(t *testing.T) { oncetest.Run(t, factory(redis.Options{})) }

func TestHash(t *testing.T) { oncetest.Run(t, factory(redis.Options{Marks: redis.Hash})) }

func TestBitmap(t *testing.T) {
	f := factory(redis.Options{Marks: redis.Bitmap, MaxID: 1 << 22})
	f.Member = func(i int) string { return strconv.Itoa(i * 397) } // over several segments
	oncetest.Run(t, f)
}

// TestKeptMarks: with a time to live, every call goes the way of the scripts.
func TestKeptMarks(t *testing.T) {
	for _, kind := range []redis.Kind{redis.Set, redis.Hash, redis.Bitmap} {
		f := factory(redis.Options{Marks: kind, KeepMarks: once.Idle})
		f.MarksOnly = true
		if kind == redis.Bitmap {
			f.Member = strconv.Itoa
		}
		t.Run(fmt.Sprint(kind), func(t *testing.T) { oncetest.Run(t, f) })
	}
}
