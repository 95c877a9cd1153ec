package clustertest

import (
	"context"
	"strings"
	"testing"
	"time"

	"rushgate/internal/testenv"
)

// storm is how long bad weather lasts: longer than any lease and any wait for an
// answer of Redis.
const storm = 3500 * time.Millisecond

// Between the nodes and one of their servers the network cuts connections,
// delays bytes, holds them back and delivers them when nobody waits any more,
// and loses them without telling: now at one node, now at the other.
func TestTheNetworkFails(t *testing.T) {
	t.Parallel()
	for _, where := range []string{"Redis", "PostgreSQL"} {
		t.Run(where, func(t *testing.T) {
			t.Parallel()
			const stock, people = 1200, 2500
			seed := seed(t)
			server := postgresql.Server(t)
			ledger, redis := onPostgres(t, server), testenv.Redis(t)
			addr := map[string]string{"Redis": redis.Addr, "PostgreSQL": server.Addr}[where]
			proxies := map[string]*testenv.Proxy{"n1": testenv.NewProxy(t, addr), "n2": testenv.NewProxy(t, addr)}
			c := gather(t, plan{nodes: 2, ledger: ledger, gate: redis.URL(), via: func(node string) (string, string) {
				through := func(url string) string { return strings.Replace(url, addr, proxies[node].Addr, 1) }
				return through(ledger.url), through(redis.URL())
			}})
			c.awaitReady(2)
			c.sell(stock)
			crowd := c.crowd(seed)
			crowd.calm = 25 * time.Millisecond
			one, two := proxies["n1"], proxies["n2"]
			for i, weather := range []func(){
				func() { one.Cut() },
				func() { two.Delay(testenv.Both, 30*time.Millisecond) },
				func() { one.Hold(testenv.Both) },
				func() { two.Swallow(testenv.ToServer) },
				func() { one.Swallow(testenv.ToClient) },
				func() { one.Cut(); two.Cut() },
			} {
				crowd.at((i+1)*stock/10, func(ctx context.Context) {
					weather()
					rest(ctx, storm)
					c.must("heal", one.Heal())
					c.must("heal", two.Heal())
					c.awaitReady(2)
				})
			}
			crowd.rush(people)
			c.conclude(crowd.journal)
		})
	}
}
