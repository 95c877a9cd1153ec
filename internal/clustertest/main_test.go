package clustertest

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"rushgate/internal/binary"
	"rushgate/internal/testenv"
)

// program is the real one, built once.
var program string

// postgres is for all tests that leave it in peace.
var postgresql = testenv.SharedPostgres("max_connections=300")

func TestMain(m *testing.M) {
	if moment := os.Getenv(childMoment); moment != "" {
		os.Exit(childMain(moment))
	}
	os.Exit(postgresql.Around(built{m}).Run())
}

// built is a run of tests with the program.
type built struct{ tests testenv.Tests }

func (b built) Run() int {
	dir, err := os.MkdirTemp("", "rushgate-clustertest-*")
	if err == nil {
		defer os.RemoveAll(dir)
		program, err = binary.Build(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return b.tests.Run()
}

// token is the admin token of every node here.
const token = "the-admin-token-of-the-cluster-tests"

// patience bounds every wait for something that must come about.
const patience = 60 * time.Second

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

// seed is where all choices of a test come from.
func seed(t *testing.T) uint64 {
	t.Helper()
	s := setting(t, "RUSHGATE_CLUSTER_SEED", rand.Uint64())
	t.Logf("RUSHGATE_CLUSTER_SEED=%d", s)
	return s
}

// until waits for something that others bring about.
func until(t *testing.T, what string, holds func() error) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(patience)
	for {
		err := holds()
		if err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("%s: not within %s: %v", what, patience, err)
		}
	}
}
