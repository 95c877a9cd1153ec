package clustertest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"rushgate/internal/fleet"
	"rushgate/internal/testenv"
)

// world is everything that can go wrong.
type world struct {
	*cluster
	redis    *testenv.RedisServer
	postgres *testenv.PostgresServer
	toRedis,
	toLedger map[string]*testenv.Proxy // of each node
	busy map[string]*sync.Mutex // one disaster at a time for each thing
}

// Disasters of all kinds come in pairs, in an order that chance decides: while
// one thing is down, another one fails.
func TestEverythingFailsAtOnce(t *testing.T) {
	t.Parallel()
	const stock, people, pairs = 1500, 3000, 10
	seed := seed(t)
	w := &world{redis: testenv.Redis(t), postgres: testenv.PostgreSQL(t), toRedis: map[string]*testenv.Proxy{}, toLedger: map[string]*testenv.Proxy{},
		busy: map[string]*sync.Mutex{"redis": {}, "postgres": {}, "n1": {}, "n2": {}, "n3": {}}}
	ledger := onPostgres(t, w.postgres)
	w.cluster = gather(t, plan{nodes: 3, ledger: ledger, gate: w.redis.URL(), via: func(node string) (string, string) {
		w.toLedger[node], w.toRedis[node] = testenv.NewProxy(t, w.postgres.Addr), testenv.NewProxy(t, w.redis.Addr)
		return strings.Replace(ledger.url, w.postgres.Addr, w.toLedger[node].Addr, 1),
			strings.Replace(w.redis.URL(), w.redis.Addr, w.toRedis[node].Addr, 1)
	}})
	w.awaitReady(3)
	w.sell(stock)
	crowd := w.crowd(seed)
	crowd.calm = 20 * time.Millisecond
	order := rand.New(rand.NewPCG(seed, 0))
	for i := range pairs {
		one, other := w.draw(order), w.draw(order)
		crowd.at((i+1)*stock/(pairs+4), func(ctx context.Context) {
			var both sync.WaitGroup
			both.Go(func() { one(ctx) })
			both.Go(func() { other(ctx) })
			both.Wait()
		})
	}
	crowd.rush(people)
	w.conclude(crowd.journal)
}

// draw returns a disaster.
func (w *world) draw(r *rand.Rand) func(context.Context) {
	n := w.Nodes[r.IntN(len(w.Nodes))]
	length := time.Duration(500+r.IntN(2500)) * time.Millisecond
	return [...]func(context.Context){
		w.alone("redis", "Redis starts empty", func(context.Context) { w.redis.Kill(); w.begin("Redis", w.redis.Start) }),
		w.alone("redis", "FLUSHALL", func(context.Context) {
			_, err := say(w.redis, "FLUSHALL")
			w.must("flush", err)
		}),
		w.alone("postgres", "PostgreSQL is killed", func(context.Context) { w.postgres.Kill(); w.begin("PostgreSQL", w.postgres.Start) }),
		w.alone(n.Name, n.Name+" is killed", func(context.Context) { n.Kill(); w.begin(n.Name, n.Start) }),
		w.alone(n.Name, n.Name+" stands still", func(ctx context.Context) {
			w.must("pause", n.Pause())
			rest(ctx, length)
			w.must("resume", n.Resume())
		}),
		w.weather(n, "is cut off from Redis", w.toRedis, length, func(p *testenv.Proxy) { p.Swallow(testenv.Both) }),
		w.weather(n, "is cut off from the ledger", w.toLedger, length, func(p *testenv.Proxy) { p.Hold(testenv.Both) }),
		w.weather(n, "loses its connections to the ledger", w.toLedger, 0, func(p *testenv.Proxy) { p.Cut() }),
	}[r.IntN(8)]
}

// alone has a thing suffer one disaster at a time.
func (w *world) alone(thing, what string, do func(context.Context)) func(context.Context) {
	return func(ctx context.Context) {
		w.busy[thing].Lock()
		defer w.busy[thing].Unlock()
		w.t.Log(what)
		do(ctx)
	}
}

// weather is bad between a node and a server for so long.
func (w *world) weather(n *fleet.Node, what string, proxies map[string]*testenv.Proxy, length time.Duration, turn func(*testenv.Proxy)) func(context.Context) {
	return w.alone(n.Name, fmt.Sprintf("%s %s for %s", n.Name, what, length), func(ctx context.Context) {
		turn(proxies[n.Name])
		rest(ctx, length)
		w.must("heal", proxies[n.Name].Heal())
	})
}

// begin starts what was killed, as often as it takes: what it needs may be down.
func (w *world) begin(what string, start func() error) {
	until(w.t, what+" starts again", start)
}
