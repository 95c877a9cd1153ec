package lab

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// The keys of a sale in Redis.
const (
	keyStock  = "rushgate-lab:stock"  // units that are left
	keyUsers  = "rushgate-lab:users"  // who has one
	keyOrders = "rushgate-lab:orders" // one line an order
)

// redisShop is what the ways in Redis have in common: a number that says what
// is left, the set of those who have one, and the list of orders. What makes a
// way is how Buy uses them.
type redisShop struct {
	db   *redis.Client
	work work
}

// Silence keeps the Redis client from writing to the standard error of whoever
// uses it, which is the process's to decide: only a main calls it. What goes
// wrong is returned to the buyers.
func Silence() { redis.SetLogger(silence{}) }

type silence struct{}

// Printf says nothing.
func (silence) Printf(context.Context, string, ...any) {}

// openRedis connects as an ordinary program does: a pool with a connection for
// each buyer who is being served, and no retries behind the seller's back.
func openRedis(p Place) *redis.Client { return openRedisAt(p, p.Redis[0]) }

func openRedisAt(p Place, addr string) *redis.Client {
	options := p.RedisOptions(addr)
	options.PoolSize = p.Connections
	return redis.NewClient(options)
}

// redisPatience is how long an answer may take where the context says nothing
// less: a machine that stands still for a few seconds is not a server that is gone.
const redisPatience = 15 * time.Second

// RedisOptions says how to connect to one of the place's Redis.
func (p *Place) RedisOptions(addr string) *redis.Options {
	return &redis.Options{Addr: addr, Username: p.RedisUser, Password: p.RedisPassword, DB: p.RedisDB, TLSConfig: p.redisTLS(),
		MaxRetries: -1, DialerRetries: 1, ContextTimeoutEnabled: true, ReadTimeout: redisPatience, WriteTimeout: redisPatience,
		// Redis knows no such news; and connections that are made at once would race to note it.
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}}
}

// redisTLS returns how to speak TLS, which knows the server by the host's name;
// nil where it is not spoken.
func (p *Place) redisTLS() *tls.Config {
	if !p.RedisTLS {
		return nil
	}
	return &tls.Config{MinVersion: tls.VersionTLS12}
}

func newRedisShop(p Place) redisShop {
	return redisShop{db: openRedis(p), work: work(p.Work)}
}

// Begin forgets everything: the Redis is the lab's own for this sale.
func (s redisShop) Begin(ctx context.Context, units int) error {
	if err := s.prepare(ctx); err != nil {
		return err
	}
	return s.db.Set(ctx, keyStock, units, 0).Err()
}

// prepare opens the connections, as a shop does before its sale, and forgets the
// sale before.
func (s redisShop) prepare(ctx context.Context) error {
	err := atOnce(s.db.Options().PoolSize, func() (io.Closer, error) {
		conn := s.db.Conn()
		return conn, conn.Ping(ctx).Err()
	})
	return errors.Join(err, s.forget(ctx))
}

// forget removes the keys of the lab, and no others.
func (s redisShop) forget(ctx context.Context) error {
	keys := s.db.Scan(ctx, 0, "rushgate-lab:*", 1000).Iterator()
	for keys.Next(ctx) {
		if err := s.db.Del(ctx, keys.Val()).Err(); err != nil {
			return err
		}
	}
	return keys.Err()
}

// Recover does nothing: hardly any of these ways has an idea of what a seller
// that died may have left behind.
func (s redisShop) Recover(context.Context) error { return nil }

// record makes an order out and writes it down: two commands, as after every
// deduction.
func (s redisShop) record(ctx context.Context, o Order) error {
	(s.work / 2).do(ctx)
	if err := s.db.SAdd(ctx, keyUsers, o.User).Err(); err != nil {
		return err
	}
	return s.db.RPush(ctx, keyOrders, o.line()).Err()
}

// has says whether a user has one.
func (s redisShop) has(ctx context.Context, user string) (bool, error) {
	return s.db.SIsMember(ctx, keyUsers, user).Result()
}

// Restock adds to the number.
func (s redisShop) Restock(ctx context.Context, units int) error {
	return s.db.IncrBy(ctx, keyStock, int64(units)).Err()
}

// Clear takes the number away in one step.
func (s redisShop) Clear(ctx context.Context) (int, error) {
	left, err := s.db.SetArgs(ctx, keyStock, 0, redis.SetArgs{Get: true}).Result()
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(left)
}

// Left reads the number.
func (s redisShop) Left(ctx context.Context) (int, error) { return s.db.Get(ctx, keyStock).Int() }

// Orders reads the list.
func (s redisShop) Orders(ctx context.Context) ([]Order, error) {
	lines, err := s.db.LRange(ctx, keyOrders, 0, -1).Result()
	orders := make([]Order, len(lines))
	for i, l := range lines {
		orders[i].ID, orders[i].User, _ = strings.Cut(l, " ")
	}
	return orders, err
}

// Close closes the connections.
func (s redisShop) Close() error { return s.db.Close() }

func (o Order) line() string { return o.ID + " " + o.User }

// script is a Lua script that Redis keeps.
type script struct{ *redis.Script }

func newScript(lua string) script { return script{redis.NewScript(lua)} }

// answer runs the script and reads its number as an answer.
func (s script) answer(ctx context.Context, db redis.Scripter, keys []string, args ...any) (Answer, error) {
	n, err := s.Run(ctx, db, keys, args...).Int()
	return Answer(n), err
}
