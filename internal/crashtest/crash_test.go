package crashtest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"rushgate/client"
	"rushgate/internal/binary"
)

var program string

func TestMain(m *testing.M) {
	if hook := os.Getenv(childMode); hook != "" {
		os.Exit(childMain(hook))
	}
	os.Exit(runTests(m))
}

func runTests(m *testing.M) int {
	dir, err := os.MkdirTemp("", "rushgate-crashtest-*")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	if program, err = binary.Build(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// token is the admin token of every server here.
const token = "the-admin-token-of-the-crash-tests"

// The sales of the long test.
const (
	mainSale  = "main"  // one per person, held until paid
	shortSale = "short" // no limit, and holds that expire at once
	perKill   = 700     // units of the main sale for each kill: they must not run out before the end
)

// TestCrashAgainAndAgain is the promise of the whole program: what a buyer was
// told is true after any crash, and at the end exactly the stock is sold.
func TestCrashAgainAndAgain(t *testing.T) {
	kills := int(setting(t, "RUSHGATE_KILLS", 6))
	seed := setting(t, "RUSHGATE_CRASH_SEED", rand.Uint64())
	t.Logf("%d kills, RUSHGATE_CRASH_SEED=%d", kills, seed)
	data := t.TempDir()
	j := newJournal(rand.New(rand.NewPCG(seed, 1)), int64(kills+1)*perKill)
	j.createSales(t, data)
	for round := range kills {
		s := start(t, data, j.random.IntN(8) == 0)
		if s == nil {
			continue // killed while it started
		}
		checkAfterRestart(t, s, j)
		checkFromOutside(t, data, j, round%10 == 9 || kills < 20)
		if t.Failed() {
			t.Fatalf("after %d kills; the server's log: %s", round, s.Log())
		}
		j.burst(t, s)
	}
	s, err := serve(data)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Kill()
	checkAfterRestart(t, s, j)
	sellOut(t, s, j)
	checkFromOutside(t, data, j, true)
	s.Kill()
	checkOffline(t, data)
	t.Logf("%d kills, %d of them in a burst; %d claims acknowledged, %d answers lost, %d of those had been recorded",
		kills, j.bursts, len(j.claims), j.lost, j.recovered)
}

func serve(data string) (*binary.Server, error) {
	return binary.Serve(program, "--data", data, "--admin-token", token)
}

// setting reads a number from the environment.
func setting(t *testing.T, name string, otherwise uint64) uint64 {
	t.Helper()
	text, ok := os.LookupEnv(name)
	if !ok {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// start starts the server, or kills it before it serves when it is unlucky.
func start(t *testing.T, data string, unlucky bool) *binary.Server {
	t.Helper()
	s, err := binary.Start(program, "--data", data, "--admin-token", token)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Kill)
	if unlucky {
		s.Kill()
		return nil
	}
	if err := s.Await(); err != nil {
		t.Fatal(err)
	}
	return s
}

// newClient asks once: an answer that got lost is for the test to follow up.
func newClient(t *testing.T, s *binary.Server) *client.Client {
	t.Helper()
	c, err := client.New(s.URL, client.WithToken(token), client.WithRetry(client.Retry{Attempts: 1}))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (j *journal) createSales(t *testing.T, data string) {
	t.Helper()
	s, err := serve(data)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Kill()
	c := newClient(t, s)
	defer c.Close()
	for _, sale := range []client.Sale{
		{ID: mainSale, PerUser: 1, Hold: "24h", Items: []client.Item{{ID: "a", Stock: j.stock - j.stock/3}, {ID: "b", Stock: j.stock / 3}}},
		{ID: shortSale, PerUser: 0, Hold: "5ms", Items: []client.Item{{ID: "a", Stock: 50}}},
	} {
		if _, err := c.CreateSale(t.Context(), sale); err != nil {
			t.Fatal(err)
		}
	}
}

// sellOut lets new people in until nothing is left.
func sellOut(t *testing.T, s *binary.Server, j *journal) {
	t.Helper()
	c := newClient(t, s)
	defer c.Close()
	for _, item := range []string{"a", "b"} {
		for soldOut, n := false, 0; !soldOut; n++ {
			asks := make([]client.Ask, 500)
			for i := range asks {
				asks[i] = client.Ask{User: fmt.Sprintf("last-%s-%d-%d", item, n, i), Item: item}
			}
			results, err := c.ClaimBatch(t.Context(), mainSale, asks)
			if err != nil {
				t.Fatal(err)
			}
			for i, r := range results {
				switch {
				case r.Err == nil:
					j.acknowledge(r.Claim, "")
				case client.CodeOf(r.Err) == client.SoldOut:
					soldOut = true
				default:
					t.Fatalf("claim %d: %v", i, r.Err)
				}
			}
		}
	}
	stock, _, err := c.Stock(context.Background(), mainSale)
	if err != nil {
		t.Fatal(err)
	}
	var taken, total int64
	for _, st := range stock {
		taken += st.Held + st.Confirmed
		total += st.Total
		if st.Free != 0 || st.Unsettled != 0 {
			t.Errorf("sold out, and yet %+v", st)
		}
	}
	if taken != total || total != j.stock {
		t.Errorf("%d units sold of %d, want %d", taken, total, j.stock)
	}
}

// patience bounds one request while the server is up: far above what one
// takes, so that a hanging server is a failure and not a hanging test.
const patience = 3 * time.Minute
