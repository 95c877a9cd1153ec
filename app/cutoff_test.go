package app_test

import (
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"rushgate/client"
	"rushgate/internal/testenv"
)

// through sends a node's way to its ledger through a proxy.
func through(t *testing.T, ledger string) (p *testenv.Proxy, url string) {
	t.Helper()
	u := parse(t, ledger)
	p = testenv.NewProxy(t, u.Host)
	u.Host = p.Addr
	return p, u.String()
}

func parse(t *testing.T, raw string) *url.URL {
	t.Helper()
	u, err := url.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// crowd claims at a node until the test says that it is enough, and returns the
// ids that were acknowledged.
func (n *node) crowd(t *testing.T, sale string) (enough func() []string) {
	t.Helper()
	var mu sync.Mutex
	var ids []string
	stop, c := make(chan struct{}), n.operator(t)
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				claim, err := c.Claim(t.Context(), sale, client.Ask{User: fmt.Sprintf("crowd-%d-%d", w, i)})
				if err == nil {
					mu.Lock()
					ids = append(ids, claim.ID)
					mu.Unlock()
				} else if code := client.CodeOf(err); code != client.Unavailable {
					t.Errorf("a claim: %v", err)
					return
				}
			}
		})
	}
	return func() []string {
		close(stop)
		wg.Wait()
		return ids
	}
}

// A leader that cannot reach its ledger any more gives up by its own clock; a
// standby that can takes over; and when the way is free again, the first one
// stands by.
func TestALeaderThatIsCutOffGivesUp(t *testing.T) {
	t.Parallel()
	for name, database := range ledgers {
		for how, cut := range map[string]func(*testenv.Proxy) error{
			"refused":   func(p *testenv.Proxy) error { err := p.Refuse(); p.Cut(); return err },
			"half-open": func(p *testenv.Proxy) error { p.Swallow(testenv.Both); return nil },
			"deaf":      func(p *testenv.Proxy) error { p.Swallow(testenv.ToClient); return nil }, // its commits arrive, their answers do not
		} {
			t.Run(name+" "+how, func(t *testing.T) {
				t.Parallel()
				ledger := database(t)
				proxy, byProxy := through(t, ledger)
				one := join(t, briefly(t, "one", byProxy, "memory"))
				two := join(t, briefly(t, "two", ledger, "memory"))
				one.awaitReady(t)
				one.sell(t, "s", 1_000_000)
				ids := one.claims(t, "s", 0, 5)
				enough := one.crowd(t, "s")
				if err := cut(proxy); err != nil {
					t.Fatal(err)
				}
				two.awaitReady(t)
				if _, err := one.operator(t).Sales(t.Context()); client.CodeOf(err) != client.Unavailable {
					t.Errorf("two nodes sell at the same time: %v", err)
				}
				ids = append(ids, two.claims(t, "s", 5, 10)...)
				if err := proxy.Heal(); err != nil {
					t.Fatal(err)
				}
				until(t, "the first node stands by", func() bool { _, said := one.ready(t); return strings.Contains(said, "standby: two") })
				ids = append(ids, enough()...)
				two.owns(t, "s", append(ids, two.claims(t, "s", 10, 15)...)...)
			})
		}
	}
}

// What a leader sent before it lost the lead, and what arrives only when another
// one leads, is refused: also what no epoch of a sale guards.
func TestWhatArrivesTooLateIsRefused(t *testing.T) {
	t.Parallel()
	ledger := postgres.Server(t).NewDatabase(t)
	proxy, byProxy := through(t, ledger)
	one := join(t, briefly(t, "one", byProxy, "memory"))
	two := join(t, briefly(t, "two", ledger, "memory"))
	one.awaitReady(t)
	one.sell(t, "early", 5)
	c := one.operator(t)
	proxy.Hold(testenv.ToServer)
	answered := make(chan error, 1)
	go func() {
		_, err := c.CreateSale(t.Context(), client.Sale{ID: "late", Items: []client.Item{{ID: "a", Stock: 5}}})
		answered <- err
	}()
	until(t, "the sale is on its way", func() bool { return proxy.Traffic(testenv.ToServer).Waiting > 200 })
	two.awaitReady(t)
	if err := proxy.Heal(); err != nil {
		t.Fatal(err)
	}
	if err := <-answered; client.CodeOf(err) != client.Unavailable {
		t.Errorf("the late sale was answered: %v", err)
	}
	until(t, "the first node stands by", func() bool { _, said := one.ready(t); return strings.Contains(said, "standby: two") })
	if sales, err := leases(t, ledger).Sales(t.Context()); err != nil || len(sales) != 1 {
		t.Errorf("%+v, %v", sales, err)
	}
}

// Connections that break cost nobody the lead: it is renewed through new ones.
func TestALeaderSurvivesBrokenConnections(t *testing.T) {
	t.Parallel()
	for name, database := range ledgers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			proxy, byProxy := through(t, database(t))
			cfg := clusterConfig(t, "one", byProxy, "memory")
			cfg.Lease = 6 * time.Second // time for several connections, on a busy machine
			one := join(t, cfg)
			one.awaitReady(t)
			one.sell(t, "s", 1_000_000)
			enough := one.crowd(t, "s")
			for range 5 {
				before := proxy.Traffic(testenv.ToServer).Passed
				proxy.Cut()
				until(t, "it goes on", func() bool { return proxy.Traffic(testenv.ToServer).Passed > before+10_000 })
			}
			one.owns(t, "s", enough()...)
			if strings.Contains(one.log.String(), "does not sell any more") {
				t.Errorf("it lost the lead")
			}
		})
	}
}
