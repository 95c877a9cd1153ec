package stage_test

import (
	"testing"

	"github.com/redis/go-redis/v9"
)

func redisClient(t *testing.T, addr string) *redis.Client {
	t.Helper()
	db := redis.NewClient(&redis.Options{Addr: addr})
	t.Cleanup(func() { _ = db.Close() })
	return db
}
