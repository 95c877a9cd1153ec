// Package oncetest is what every store of package once must do, as tests: the
// same ones for all of them, on real servers.
package oncetest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"rushgate/once"
)

// Backend is a store of all three kinds, as one node has it.
type Backend interface {
	once.Store
	once.MarkStore
	once.ToggleStore
}

// Factory makes what is tested.
type Factory struct {
	// New returns n nodes that share one store, which is empty and ends with the test.
	New func(tb testing.TB, n int) []Backend

	// Member returns the i-th of the members that the store takes. Default:
	// names of several kinds.
	Member func(i int) string

	// Tagless is a store of marks that keeps no tags.
	Tagless bool

	// MarksOnly leaves out what is not about marks: another kind of marks of a
	// store that was tested already.
	MarksOnly bool
}

// Run runs all tests.
func Run(t *testing.T, f Factory) {
	if f.Member == nil {
		f.Member = anyName
	}
	if !f.MarksOnly {
		t.Run("runs", func(t *testing.T) { t.Parallel(); testRuns(t, f) })
		t.Run("contract", func(t *testing.T) { t.Parallel(); testContract(t, f) })
		t.Run("leases", func(t *testing.T) { t.Parallel(); testLeases(t, f) })
		t.Run("crowd", func(t *testing.T) { t.Parallel(); testCrowd(t, f) })
		t.Run("toggles", func(t *testing.T) { t.Parallel(); testToggles(t, f) })
	}
	t.Run("marks", func(t *testing.T) { t.Parallel(); testMarks(t, f) })
}

// anyName returns names that a store might mix up: in case, in accents, in
// trailing blanks, in what other systems take for a separator or a wildcard.
func anyName(i int) string {
	odd := []string{"a", "A", "á", "a ", " a", "%", "_", "*", "a:b", "{a}", "}", `"`, `\`, "'", "日本", "😀"}
	if i < len(odd) {
		return odd[i]
	}
	return fmt.Sprintf("member-%d", i)
}

// node returns a Once on a store that is in time, on a machine that stands still for
// some seconds now and then.
func node(tb testing.TB, s once.Store, change ...func(*once.Config)) *once.Once {
	tb.Helper()
	c := once.Config{Store: s, Lease: 20 * time.Second, Timeout: 10 * time.Second, Patience: 5 * time.Minute}
	for _, f := range change {
		f(&c)
	}
	o, err := once.New(c)
	if err != nil {
		tb.Fatal(err)
	}
	return o
}

// returning is work that returns a value.
func returning(value string) once.Work {
	return func(context.Context, once.Attempt) ([]byte, error) { return []byte(value), nil }
}

// never is work that must not run.
func never(tb testing.TB) once.Work {
	return func(context.Context, once.Attempt) ([]byte, error) {
		tb.Error("the work was run")
		return nil, errors.New("the work was run")
	}
}

// wantValue checks a result.
func wantValue(tb testing.TB, r once.Result, err error, value string, replayed bool) {
	tb.Helper()
	if err != nil || string(r.Value) != value || r.Replayed != replayed {
		tb.Fatalf("got %q, replayed %v, %v; want %q, replayed %v", r.Value, r.Replayed, err, value, replayed)
	}
}

func wantError(tb testing.TB, err, target error) {
	tb.Helper()
	if !errors.Is(err, target) {
		tb.Fatalf("got the error %v; want %v", err, target)
	}
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// eventually asks until the answer is yes, within a bound that only a broken
// store reaches.
func eventually(tb testing.TB, what string, ask func() bool) {
	tb.Helper()
	deadline := time.NewTimer(30 * time.Second)
	defer deadline.Stop()
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for !ask() {
		select {
		case <-again.C:
		case <-deadline.C:
			tb.Fatalf("it never happens that %s", what)
		}
	}
}
