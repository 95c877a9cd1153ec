package limits

import (
	"testing"
	"time"

	"github.com/go-redis/redis_rate/v10"
	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"

	"rushgate/internal/testenv"
	"rushgate/limit"
	"rushgate/limit/redis"
)

func BenchmarkRedis(b *testing.B) {
	server := testenv.Redis(b)
	measure(b,
		library{"ours", func(b *testing.B, of bucket) take { return ours(b, server, of) }},
		library{"redis_rate", func(b *testing.B, of bucket) take { return redisRate(b, server, of) }})
}

func ours(b *testing.B, server *testenv.RedisServer, of bucket) take {
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{server.Addr}, DisableCache: true})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(client.Close)
	rule := limit.Rule{Name: "bench", Policy: limit.GCRA(limit.Per(int64(of.rate), time.Second), int64(of.burst))}
	l, err := redis.New(client, rule, redis.Options{Timeout: 10 * time.Second})
	if err != nil {
		b.Fatal(err)
	}
	ctx := b.Context()
	return func(key string) (bool, error) {
		r, err := l.Take(ctx, key, 1)
		return r.Granted, err
	}
}

func redisRate(b *testing.B, server *testenv.RedisServer, of bucket) take {
	client := goredis.NewClient(&goredis.Options{Addr: server.Addr, PoolSize: 64})
	b.Cleanup(func() { client.Close() })
	l := redis_rate.NewLimiter(client)
	to := redis_rate.Limit{Rate: of.rate, Burst: of.burst, Period: time.Second}
	ctx := b.Context()
	return func(key string) (bool, error) {
		r, err := l.Allow(ctx, key, to)
		if err != nil {
			return false, err
		}
		return r.Allowed > 0, nil
	}
}
