package trial_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"rushgate/internal/testenv"
	"rushgate/lab"
	"rushgate/lab/stage"
	"rushgate/lab/trial"
)

// TestMain is a seller, too: the sellers of these tests are this very program.
func TestMain(m *testing.M) {
	if a := os.Getenv(trial.AssignmentEnv); a != "" {
		if err := trial.Sell(context.Background(), a, os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	lab.Silence()
	// go-redis looks whether it was closed only after a second.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/internal/pool.(*ConnPool).tryDial"))
}

func setup(t *testing.T, opts stage.Options, plan trial.Plan, names ...string) (trial.Setup, []lab.Way) {
	t.Helper()
	ways, err := lab.Choose(names)
	if err != nil {
		t.Fatal(err)
	}
	for i := range ways {
		opts.Needs = append(opts.Needs, ways[i].Needs...)
	}
	opts.Connections = plan.Connections
	s, err := stage.Open(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	possible, notes := s.Choose(ways, true)
	if len(possible) != len(ways) {
		t.Fatal(notes)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return trial.Setup{Plan: plan, Place: s.Place, Replicate: s.Replicate, Count: s.Count, Watch: &trial.Watch{},
		Command: func() *exec.Cmd { return exec.Command(self) }}, ways
}

func small() trial.Plan {
	plan := trial.Defaults()
	plan.Stock, plan.Buyers, plan.Connections = 200, 1000, 32
	plan.Duration = 30 * time.Second // a sale ends when all is sold, or all have been served
	return plan
}

// TestOurs takes our own ways through everything, in processes that are really
// stopped and killed: no promise is broken.
func TestOurs(t *testing.T) {
	setup, ways := setup(t, stage.Options{}, small(), "rushgate")
	for _, w := range ways {
		o := trial.Run(t.Context(), setup, w)
		if !o.Exact() || o.Granted != setup.Plan.Stock {
			t.Errorf("%s: %s %s, granted %d of %d", o.Name, o.Verdict, o.Problem, o.Granted, setup.Plan.Stock)
		}
		if o.Pause == nil || o.Crash == nil || o.Admin == nil || o.Admin.Cleared == 0 || w.InRedis() != (o.Failover != nil) {
			t.Errorf("%s was not tried in everything: %+v", o.Name, o)
		}
	}
}

// TestSQLite: the ways in SQL on the database that needs no server keep what they
// promise there. (One of them in processes that are stopped and killed: the
// database is the same for all.)
func TestSQLite(t *testing.T) {
	plan := small()
	plan.Stock, plan.Buyers, plan.Duration = 50, 250, 500*time.Millisecond
	setup, ways := setup(t, stage.Options{}, plan, "sql-read-write-sqlite", "sql-for-update-sqlite", "sql-version-sqlite", "sql-where-stock-sqlite", "sql-unique-sqlite")
	for _, w := range ways {
		setup := setup
		setup.Plan.Pause, setup.Plan.Crash = w.Name == "sql-for-update-sqlite", w.Name == "sql-for-update-sqlite"
		o := trial.Run(t.Context(), setup, w)
		faults := o.Oversold + o.Duplicates
		if setup.Plan.Crash && o.Problem == "" {
			faults += o.Pause.Excess() + o.Crash.Excess() + o.Crash.Lost()
		}
		if o.Problem != "" || faults != 0 || !o.Admin.Obeyed {
			t.Errorf("%s: %s %s", o.Name, o.Verdict, o.Problem)
		}
	}
}

// TestSeen: what is known to break is seen breaking, by the crowd, and by
// processes that are really stopped and killed.
func TestSeen(t *testing.T) {
	setup, _ := setup(t, stage.Options{}, small(), "redis", "lock-lua-release")
	for _, c := range []struct {
		name, sale, fault string
		seen              func(*trial.Outcome) bool
	}{
		{"redis-read-write", "", "oversells in a rush", func(o *trial.Outcome) bool { return o.Oversold > 0 }},
		{"redis-read-write", "admin", "does not obey the operator", func(o *trial.Outcome) bool { return !o.Admin.Obeyed }},
		{"redis-watch", "", "turns buyers away", func(o *trial.Outcome) bool { return o.Contended > 0 }},
		{"redis-incr", "", "sells two to a user", func(o *trial.Outcome) bool { return o.Duplicates > 0 }},
		{"redis-lpop", "crash", "loses units in a crash", func(o *trial.Outcome) bool { return o.Crash.Stranded > 0 }},
		{"lock-lua-release", "pause", "oversells when a seller stands still", func(o *trial.Outcome) bool { return o.Pause.Excess() > 0 }},
	} {
		t.Run(c.name+" "+c.fault, func(t *testing.T) {
			ways, err := lab.Choose([]string{c.name})
			if err != nil {
				t.Fatal(err)
			}
			setup := setup
			setup.Plan.Admin, setup.Plan.Crash, setup.Plan.Pause, setup.Plan.Failover = c.sale == "admin", c.sale == "crash", c.sale == "pause", false
			for range attempts {
				o := trial.Run(t.Context(), setup, ways[0])
				if o.Problem != "" {
					t.Fatal(o.Problem)
				}
				if c.seen(&o) {
					return
				}
			}
			t.Errorf("nobody saw that it %s in %d runs: the lab is too weak", c.fault, attempts)
		})
	}
}

// TestFailover: whatever is kept in Redis alone is sold again by a replica that
// took over and had not heard of it. (TestOurs sees that ours is not.)
func TestFailover(t *testing.T) {
	plan := small()
	plan.Stock, plan.Buyers, plan.Admin, plan.Crash, plan.Pause = 160, 640, false, false, false
	setup, ways := setup(t, stage.Options{}, plan, "redis", "lock")
	for _, w := range ways {
		t.Run(w.Name, func(t *testing.T) {
			for range attempts {
				o := trial.Run(t.Context(), setup, w)
				if o.Problem != "" {
					t.Fatal(o.Problem)
				}
				if w.SurvivesFailover != (o.Failover.Excess()+o.Failover.Lost() > 0) {
					return
				}
			}
			t.Errorf("nobody saw it break in %d runs: the lab is too weak", attempts)
		})
	}
}

// attempts is how often a fault may hide.
const attempts = 10

// TestServerGone: a server that goes away in the middle ends the trial of the way
// with a clear word, and what was learned is kept.
func TestServerGone(t *testing.T) {
	for problem, buyers := range map[string]int{
		"no answer for":      trial.MaxBuyers,
		"connection refused": 20_000, // who are all turned down before anybody is given up
	} {
		t.Run(problem, func(t *testing.T) { serverGone(t, buyers, problem) })
	}
}

func serverGone(t *testing.T, buyers int, problem string) {
	server := testenv.Redis(t)
	plan := small()
	plan.Duration, plan.Buyers, plan.Stock = 30*time.Second, buyers, trial.MaxStock
	setup, ways := setup(t, stage.Options{Redis: []string{server.Addr}}, plan, "redis-lua")
	ended := make(chan trial.Outcome, 1)
	go func() { ended <- trial.Run(t.Context(), setup, ways[0]) }()
	for setup.Watch.Look().Granted < 100 {
		select {
		case o := <-ended:
			t.Fatalf("ended before the server was gone: %s", o.Problem)
		case <-time.After(time.Millisecond):
		}
	}
	server.Kill()
	o := <-ended
	if !strings.Contains(o.Problem, problem) || o.Granted < 100 || o.ClaimsPerSecond == 0 || o.Stranded+o.OrdersLost+o.Undersold > 0 {
		t.Errorf("problem %q, granted %d", o.Problem, o.Granted)
	}
}

// TestInterrupted: somebody who has seen enough gets what was learned.
func TestInterrupted(t *testing.T) {
	plan := small()
	plan.Duration, plan.Buyers, plan.Stock = 30*time.Second, trial.MaxBuyers, trial.MaxStock
	setup, ways := setup(t, stage.Options{}, plan, "rushgate-memory-sqlite")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan trial.Outcome, 1)
	go func() { ended <- trial.Run(ctx, setup, ways[0]) }()
	for setup.Watch.Look().Granted < 100 {
		select {
		case o := <-ended:
			t.Fatalf("ended by itself: %s", o.Problem)
		case <-time.After(time.Millisecond):
		}
	}
	cancel()
	if o := <-ended; o.Problem != "interrupted" || o.Granted < 100 || o.Stranded+o.OrdersLost+o.Undersold > 0 {
		t.Errorf("problem %q, granted %d", o.Problem, o.Granted)
	}
}
