package baseline

import (
	"context"
	_ "embed"
	"fmt"
	"net/http"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

//go:embed claim.lua
var claimScript string

// Redis is baseline (b): the ordinary way to survive a flash sale. net/http,
// go-redis, and one EVALSHA for each claim, which checks the user, takes a
// unit, remembers the user and appends the order to a stream. Its Redis has no
// persistence: what it acknowledges is in memory, and a crash loses it.
type Redis struct {
	client *redis.Client
	sha    string
	lastID atomic.Int64
}

// connectionsPerCore is the pool of the client: go-redis' own default, which
// was the fastest of 10, 32 and 128 where this was written.
const connectionsPerCore = 10

// NewRedis prepares the sale in the Redis at addr.
func NewRedis(ctx context.Context, addr string, stock int64) (*Redis, error) {
	b := &Redis{client: redis.NewClient(&redis.Options{Addr: addr, PoolSize: connectionsPerCore * runtime.GOMAXPROCS(0)})}
	b.lastID.Store(time.Now().UnixNano())
	var err error
	if b.sha, err = b.client.ScriptLoad(ctx, claimScript).Result(); err == nil {
		err = b.client.Set(ctx, "sale:stock", stock, 0).Err()
	}
	if err != nil {
		b.client.Close()
		return nil, fmt.Errorf("prepare redis at %s: %w", addr, err)
	}
	return b, nil
}

// Close ends the client.
func (b *Redis) Close() error { return b.client.Close() }

// Handler serves the claim endpoint.
func (b *Redis) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc(route, b.claim)
	return mux
}

func (b *Redis) claim(w http.ResponseWriter, r *http.Request) {
	c, ok := decode(w, r)
	if !ok {
		return
	}
	id := b.lastID.Add(1)
	keys := []string{"sale:stock", "sale:users", "sale:orders"}
	answer, err := b.client.EvalSha(r.Context(), b.sha, keys, c.User, c.Item, id).Int()
	switch {
	case err != nil:
		refuse(w, http.StatusServiceUnavailable, "unavailable")
	case answer == 1:
		refuse(w, http.StatusConflict, "sold_out")
	case answer == 2:
		refuse(w, http.StatusConflict, "limit_reached")
	default:
		grant(w, r.PathValue("sale"), &c, id)
	}
}
