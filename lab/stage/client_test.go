package stage_test

import (
	"testing"

	"github.com/redis/go-redis/v9"

	"rushgate/internal/testenv"
)

func redisClient(t *testing.T, r *testenv.RedisServer) *redis.Client {
	t.Helper()
	db := redis.NewClient(&redis.Options{Addr: r.Addr, Password: r.Password})
	t.Cleanup(func() { _ = db.Close() })
	return db
}
