package main

import (
	"bytes"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"rushgate/client"
	"rushgate/internal/binary"
	"rushgate/internal/testenv"
)

// The database servers that the tests of this package share.
var (
	postgres = testenv.SharedPostgres()
	mariadb  = testenv.SharedMariaDB()
	redis    = testenv.SharedRedis()
)

// lease is how long a node keeps its place without a word: no longer than a test
// wants to wait, and longer than a busy machine stands still.
const lease = 8 * time.Second

const clusterToken = "admin-token-of-the-cluster"

// databases are the servers on which a ledger may be.
var databases = map[string]func(t *testing.T) (url string){
	"postgres": func(t *testing.T) string { return postgres.Server(t).NewDatabase(t) },
	"mariadb":  func(t *testing.T) string { return mariadb.Server(t).NewDatabase(t) },
}

// node starts one node of a cluster.
func node(t *testing.T, name, ledger string, flags ...string) *binary.Server {
	t.Helper()
	return serve(t, t.TempDir(), append([]string{"--node", name, "--ledger", ledger, "--lease", lease.String(), "--admin-token", clusterToken}, flags...)...)
}

// readiness is what a node says of itself.
func readiness(t *testing.T, s *binary.Server) (ready bool, said string) {
	t.Helper()
	resp, err := http.Get(s.URL + "/readyz")
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

// await waits until a node says what it should.
func await(t *testing.T, s *binary.Server, what string, holds func(ready bool, said string) bool) {
	t.Helper()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the log of %s:\n%s", s.URL, s.Log())
		}
	})
	until(t, what, func() bool { return holds(readiness(t, s)) })
}

func sells(ready bool, _ string) bool { return ready }

func standsBy(of string) func(bool, string) bool {
	return func(ready bool, said string) bool { return !ready && strings.Contains(said, "standby: "+of) }
}

func operator(t *testing.T, s *binary.Server) *client.Client {
	t.Helper()
	c, err := client.New(s.URL, client.WithToken(clusterToken), client.WithRetry(client.Retry{Attempts: 1}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// people claims for a few, one after the other.
func people(t *testing.T, c *client.Client, prefix string, n int) []string {
	t.Helper()
	var ids []string
	for i := range n {
		claim, err := c.Claim(t.Context(), "phones", client.Ask{User: prefix + strconv.Itoa(i)})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, claim.ID)
	}
	return ids
}

// allThere holds what was acknowledged against what a node knows.
func allThere(t *testing.T, s *binary.Server, ledger string, ids ...string) {
	t.Helper()
	c, seen := operator(t, s), map[string]bool{}
	for _, id := range ids {
		if seen[id] {
			t.Errorf("the id %s was given twice", id)
		}
		seen[id] = true
		if claim, err := c.GetClaim(t.Context(), id); err != nil || claim.State != "held" {
			t.Errorf("claim %s: %+v, %v", id, claim, err)
		}
	}
	succeeds(t, "audit", "phones", "--server", s.URL, "--admin-token", clusterToken)
	succeeds(t, "audit", "phones", "--ledger", ledger)
}

// A leader that is killed in a burst has lost nothing that it acknowledged, and
// another one sells on within seconds.
func TestAStandbyTakesOverFromAKilledLeader(t *testing.T) {
	t.Parallel()
	for name, database := range databases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ledger := database(t)
			one := node(t, "one", ledger)
			two := node(t, "two", ledger)
			await(t, two, "the second node stands by", standsBy("one"))
			succeeds(t, "sale", "create", "--id", "phones", "--stock", "1000000", "--server", one.URL, "--admin-token", clusterToken)
			ids := burst(t, one, 300, one.Kill)
			await(t, two, "the second node sells", sells)
			allThere(t, two, ledger, append(ids, people(t, operator(t, two), "later-", 10)...)...)
		})
	}
}

// A leader that stands still for longer than its lease wakes up when another one
// sells: it acknowledges nothing more, and stands by.
func TestALeaderThatWakesUpRecordsNothing(t *testing.T) {
	t.Parallel()
	for name, database := range databases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ledger := database(t)
			one := node(t, "one", ledger)
			two := node(t, "two", ledger)
			await(t, two, "the second node stands by", standsBy("one"))
			succeeds(t, "sale", "create", "--id", "phones", "--stock", "1000000", "--server", one.URL, "--admin-token", clusterToken)
			ids := people(t, operator(t, one), "early-", 5)

			pause := func() {
				if err := one.Signal(syscall.SIGSTOP); err != nil {
					t.Error(err)
				}
			}
			// Buyers who are in the middle when it stops hear when it wakes up.
			answered := make(chan []string)
			paused := make(chan struct{})
			go func() {
				answered <- burst(t, one, 200, func() { pause(); close(paused) })
			}()
			<-paused
			await(t, two, "the second node sells", sells)
			between := people(t, operator(t, two), "between-", 5)
			if err := one.Signal(syscall.SIGCONT); err != nil {
				t.Fatal(err)
			}
			ids = append(append(ids, <-answered...), between...)
			await(t, one, "the first node stands by", standsBy("two"))
			allThere(t, two, ledger, append(ids, people(t, operator(t, two), "later-", 5)...)...)
			if !strings.Contains(one.Log(), "does not sell any more") {
				t.Errorf("it does not say so: %s", one.Log())
			}
		})
	}
}

// A member that is killed in a burst takes nothing with it: what it granted is
// recorded by others, its number is free again, and the rest sell on.
func TestMembersSellOnWhenOneIsKilled(t *testing.T) {
	t.Parallel()
	for name, database := range databases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ledger, gate := database(t), redis.Server(t).URL()+"?prefix="+name+":"
			flags := []string{"--gate", gate, "--adopt-after", "1s", "--drain", "0s"}
			one, two := node(t, "one", ledger, flags...), node(t, "two", ledger, flags...)
			succeeds(t, "sale", "create", "--id", "phones", "--stock", "1000000", "--per-user", "0", "--server", one.URL, "--admin-token", clusterToken)
			others := make(chan []string)
			enough := make(chan struct{})
			go func() { others <- burst(t, two, 1000, func() { close(enough); _ = two.Signal(syscall.SIGTERM) }) }()
			ids := burst(t, one, 300, one.Kill)
			<-enough
			ids = append(ids, <-others...)
			if status := two.Wait(); status != 0 {
				t.Errorf("the second node ended with %d: %s", status, two.Log())
			}
			three := node(t, "three", ledger, flags...)
			ids = append(ids, people(t, operator(t, three), "later-", 10)...)
			until(t, "what the dead node granted is recorded", func() bool {
				stock, _, err := operator(t, three).Stock(t.Context(), "phones")
				return err == nil && stock[0].Unsettled == 0
			})
			allThere(t, three, ledger, ids...)
			succeeds(t, "audit", "phones", "--ledger", ledger, "--gate", gate)
		})
	}
}

// A member that is told to stop sends the balancer away and serves whoever still
// comes, until its time to drain is over, or somebody is in a hurry.
func TestAMemberDrains(t *testing.T) {
	t.Parallel()
	ledger, gate := databases["postgres"](t), redis.Server(t).URL()+"?prefix=drain:"
	s := node(t, "one", ledger, "--gate", gate, "--drain", "10m")
	succeeds(t, "sale", "create", "--id", "phones", "--stock", "10", "--server", s.URL, "--admin-token", clusterToken)
	c := operator(t, s)
	ids := people(t, c, "before-", 1)
	if err := s.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	await(t, s, "it drains", func(ready bool, said string) bool { return !ready && strings.Contains(said, "stopping") })
	ids = append(ids, people(t, c, "while-", 5)...)
	hurry(t, s)
	allThere(t, node(t, "two", ledger, "--gate", gate), ledger, ids...)
}

// until waits for something that others bring about.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.After(time.Minute); !holds(); {
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("%s: not within a minute", what)
		}
	}
}
