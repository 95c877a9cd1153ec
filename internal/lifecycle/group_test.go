package lifecycle_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"rushgate/internal/lifecycle"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// recorder writes down who stopped when.
type recorder struct {
	mu    sync.Mutex
	order []string
}

func (r *recorder) part(name string) lifecycle.Part {
	end := make(chan struct{})
	return lifecycle.Part{Name: name,
		Run: func() error { <-end; return nil },
		Stop: func(context.Context) error {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.order = append(r.order, name)
			close(end) // a second Stop would panic
			return nil
		}}
}

func (r *recorder) String() string { return strings.Join(r.order, " ") }

func TestPartsStopInTheOppositeOrder(t *testing.T) {
	g, r := lifecycle.New(), &recorder{}
	for _, name := range []string{"ledger", "service", "server"} {
		if err := g.Start(r.part(name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := g.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := r.String(); got != "server service ledger" {
		t.Errorf("stopped in the order %q", got)
	}
	if err := g.Start(r.part("late")); err == nil {
		t.Error("a part was started after Stop")
	}
}

func TestStopIsSafeTwiceAndAtTheSameTime(t *testing.T) {
	g, r := lifecycle.New(), &recorder{}
	if err := g.Start(r.part("one")); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if err := g.Stop(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if r.String() != "one" {
		t.Errorf("stopped %q", r)
	}
}

func TestOneThatEndsIsToldToAll(t *testing.T) {
	g, r := lifecycle.New(), &recorder{}
	if err := g.Start(r.part("steady")); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("the disk is gone")
	if err := g.Start(lifecycle.Part{Name: "weak", Run: func() error { return broken }}); err != nil {
		t.Fatal(err)
	}
	err := g.Wait(t.Context())
	if !errors.Is(err, broken) || !strings.HasPrefix(err.Error(), "weak: ") {
		t.Errorf("Wait returned %v", err)
	}
	if err := g.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if r.String() != "steady" {
		t.Errorf("stopped %q", r)
	}
}

func TestStopGivesUpWhenItsTimeIsOver(t *testing.T) {
	g, r := lifecycle.New(), &recorder{}
	if err := g.Start(r.part("first")); err != nil {
		t.Fatal(err)
	}
	stuck := make(chan struct{})
	if err := g.Start(lifecycle.Part{Name: "stuck", Run: func() error { <-stuck; return nil }}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := g.Stop(ctx)
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "stuck") {
		t.Errorf("Stop returned %v", err)
	}
	if r.String() != "first" {
		t.Errorf("the others were not stopped: %q", r)
	}
	close(stuck)
}
