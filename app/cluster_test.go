package app_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"rushgate"
	"rushgate/app"
	"rushgate/client"
	"rushgate/internal/testenv"
)

// The servers that the tests of this package share.
var (
	postgres = testenv.SharedPostgres("max_connections=300") // for the nodes of several tests
	mariadb  = testenv.SharedMariaDB()
	redis    = testenv.SharedRedis()
)

// token is what all nodes have in common.
const token = "admin-token-of-the-cluster"

// How long a silent node keeps its place: where a test waits for the end of that,
// longer than a busy machine is silent, and short enough to wait for; elsewhere
// nobody takes over because time is up.
const (
	brief = 4 * time.Second
	long  = time.Minute
)

// node is a program of a cluster, with what it logs.
type node struct {
	*app.Program
	log *syncBuffer
}

// syncBuffer is a log that is read while it is written.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// clusterConfig is that of one node.
func clusterConfig(t *testing.T, name, ledger, gate string) app.Config {
	t.Helper()
	cfg := app.Defaults()
	cfg.Listen, cfg.Data = "127.0.0.1:0", filepath.Join(t.TempDir(), name)
	cfg.Node, cfg.Ledger, cfg.Gate, cfg.Lease, cfg.AdminToken = name, ledger, gate, long, token
	return cfg
}

// briefly is that of one node that is soon missed.
func briefly(t *testing.T, name, ledger, gate string) app.Config {
	t.Helper()
	cfg := clusterConfig(t, name, ledger, gate)
	cfg.Lease = brief
	return cfg
}

// join starts a node, which runs until the test ends.
func join(t *testing.T, cfg app.Config) *node {
	t.Helper()
	n := &node{log: &syncBuffer{}}
	var err error
	n.Program, err = app.Open(t.Context(), cfg, slog.New(slog.NewTextHandler(n.log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Close(context.Background()); err != nil {
			t.Errorf("node %s: %v", cfg.Node, err)
		}
		if t.Failed() {
			t.Logf("node %s:\n%s", cfg.Node, n.log)
		}
	})
	return n
}

// patience bounds every wait: whoever needs longer has failed. A node waits for
// another one that loads a sale for 5 seconds, then for 10, 20 and 40.
const patience = 2 * time.Minute

// until waits for something that others bring about.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for end := time.After(patience); !holds(); {
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("%s: not within %s", what, patience)
		}
	}
}

// ready asks whether a node may be sent traffic, and what it says.
func (n *node) ready(t *testing.T) (bool, string) {
	t.Helper()
	return isReady(t, n.URL())
}

func isReady(t *testing.T, url string) (bool, string) {
	t.Helper()
	resp, err := http.Get(url + "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var body bytes.Buffer
	if _, err := body.ReadFrom(resp.Body); err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode == http.StatusOK, body.String()
}

func (n *node) awaitReady(t *testing.T) {
	t.Helper()
	until(t, "the node is ready", func() bool { ok, _ := n.ready(t); return ok })
}

// operator speaks to a node as one who may do everything, and asks once.
func (n *node) operator(t *testing.T) *client.Client { return once(t, n.URL()) }

func once(t *testing.T, url string) *client.Client {
	t.Helper()
	c, err := client.New(url, client.WithToken(token), client.WithRetry(client.Retry{Attempts: 1}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// sell makes a sale of one item.
func (n *node) sell(t *testing.T, id string, stock int64) {
	t.Helper()
	_, err := n.operator(t).CreateSale(t.Context(), client.Sale{ID: id, PerUser: 1, Hold: "1h", Items: []client.Item{{ID: "a", Stock: stock}}})
	if err != nil {
		t.Fatal(err)
	}
}

// claims lets people claim, one after the other, and returns the ids.
func (n *node) claims(t *testing.T, sale string, from, to int) []string {
	t.Helper()
	c := n.operator(t)
	var ids []string
	for i := from; i < to; i++ {
		claim, err := c.Claim(t.Context(), sale, client.Ask{User: fmt.Sprintf("u%d", i)})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, claim.ID)
	}
	return ids
}

// owns holds the claims of a node against ids that were acknowledged, by
// whomever: each is there, and none twice.
func (n *node) owns(t *testing.T, sale string, ids ...string) {
	t.Helper()
	c, err := client.New(n.URL(), client.WithToken(token)) // which asks again, if a connection breaks
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	seen := map[string]bool{}
	for _, id := range ids {
		if seen[id] {
			t.Errorf("the id %s was given twice", id)
		}
		seen[id] = true
		if claim, err := c.GetClaim(t.Context(), id); err != nil || claim.State != "held" {
			t.Errorf("claim %s: %+v, %v", id, claim, err)
		}
	}
	report, err := c.Audit(t.Context(), sale)
	if err != nil || !report.OK {
		t.Errorf("audit: %+v, %v", report, err)
	}
}

// ledgers are the servers on which a ledger may be.
var ledgers = map[string]func(t *testing.T) (url string){
	"postgres": func(t *testing.T) string { return postgres.Server(t).NewDatabase(t) },
	"mariadb":  func(t *testing.T) string { return mariadb.Server(t).NewDatabase(t) },
}

// Whoever removes the ledger's tables ends the nodes that sell from it, and those
// that stand by: nothing that they would do could be written down.
func TestALostLedgerEndsTheNodes(t *testing.T) {
	t.Parallel()
	for name, database := range ledgers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := database(t)
			one := join(t, briefly(t, "one", url, "memory"))
			two := join(t, briefly(t, "two", url, "memory"))
			ended := make(chan error, 2)
			for _, n := range []*node{one, two} {
				go func() { ended <- n.Run(t.Context()) }()
			}
			one.sell(t, "s", 5)
			drop(t, name, url)
			for range 2 {
				if err := <-ended; !errors.Is(err, rushgate.ErrLost) {
					t.Errorf("a node ended: %v", err)
				}
			}
		})
	}
}

// drop removes the tables of a ledger.
func drop(t *testing.T, server, url string) {
	t.Helper()
	database := strings.TrimPrefix(parse(t, url).Path, "/")
	var err error
	if server == "postgres" {
		_, err = postgres.Server(t).SQL(database, `DROP SCHEMA public CASCADE; CREATE SCHEMA public`)
	} else {
		_, err = mariadb.Server(t).SQL(database, `DROP DATABASE `+database+`; CREATE DATABASE `+database)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// One leads, the others say who; a stop in good order hands over at once, and
// nobody loses anything.
func TestStandbysTakeOverFromALeaderThatStops(t *testing.T) {
	t.Parallel()
	for name, database := range ledgers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := database(t)
			one := join(t, clusterConfig(t, "one", url, "memory"))
			two := join(t, clusterConfig(t, "two", url, "memory"))
			one.awaitReady(t)
			if ok, said := two.ready(t); ok || !strings.Contains(said, "standby: one (http://") {
				t.Fatalf("the second node: %v, %s", ok, said)
			}
			one.sell(t, "s", 100)
			ids := one.claims(t, "s", 0, 10)
			if _, err := two.operator(t).Claim(t.Context(), "s", client.Ask{User: "x"}); client.CodeOf(err) != client.Unavailable {
				t.Errorf("a claim at a standby: %v", err)
			}
			if err := one.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			two.awaitReady(t)
			two.owns(t, "s", append(ids, two.claims(t, "s", 10, 20)...)...)
		})
	}
}
