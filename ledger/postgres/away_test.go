package postgres_test

import (
	"errors"
	"testing"
	"time"

	"rushgate"
	"rushgate/internal/testenv"
	"rushgate/ledger/postgres"
)

// TestAServerThatGoesAndComes: the ledger finds its way back by itself, and tells
// what was recorded.
func TestAServerThatGoesAndComes(t *testing.T) {
	t.Parallel()
	s := testenv.PostgreSQL(t)
	inside := func() {}
	k := newTill(t, s.URL("postgres"), postgres.Options{Patience: 2 * time.Second, LockWait: time.Second, Commit: func(commit func() error) error {
		inside()
		return commit()
	}})
	must(t, k.record(k.grant(3)))
	k.taken(t, 3)

	t.Run("restarted", func(t *testing.T) {
		s.Restart(t)
		must(t, k.record(k.grant(1)))
		k.taken(t, 4)
	})
	t.Run("away", func(t *testing.T) {
		s.Stop()
		b := k.next(k.grant(1))
		err := k.Record(t.Context(), b)
		hints(t, err, "no PostgreSQL answers at "+s.Addr)
		if errors.Is(err, rushgate.ErrUnknown) || errors.Is(err, rushgate.ErrLost) {
			t.Fatalf("got %v, want a plain error: nothing was written", err)
		}
		must(t, s.Start())
		must(t, k.Record(t.Context(), b))
		k.taken(t, 5)
	})
	t.Run("killed before a commit", func(t *testing.T) {
		b := k.next(k.grant(1))
		inside = s.Kill
		err := k.Record(t.Context(), b)
		inside = func() {}
		if !errors.Is(err, rushgate.ErrUnknown) {
			t.Fatalf("got %v, want ErrUnknown", err)
		}
		must(t, s.Start())
		if k.settled(t, b) {
			t.Fatal("a batch whose commit nobody has seen is said to be recorded")
		}
		k.taken(t, 5)
		must(t, k.Record(t.Context(), b))
		k.taken(t, 6)
	})
	t.Run("standing still in a commit, which it finds when it goes on", func(t *testing.T) {
		b := k.next(k.grant(1))
		inside = func() { must(t, s.Pause()) }
		err := k.Record(t.Context(), b)
		inside = func() {}
		if !errors.Is(err, rushgate.ErrUnknown) {
			t.Fatalf("got %v, want ErrUnknown", err)
		}
		if _, err := k.Recorded(t.Context(), b); err == nil {
			t.Fatal("Recorded knows what a server that stands still will do")
		}
		must(t, s.Resume())
		yes := k.settled(t, b) // either way: what it says must be so
		want := int64(6)
		if yes {
			want++
		}
		k.taken(t, want)
		if !yes {
			must(t, k.Record(t.Context(), b))
		}
		k.taken(t, 7)
	})
	t.Run("standing still before a commit", func(t *testing.T) {
		must(t, s.Pause())
		b := k.next(k.grant(1))
		err := k.Record(t.Context(), b)
		hints(t, err, "did not answer in time")
		if errors.Is(err, rushgate.ErrUnknown) {
			t.Fatalf("got %v, want a plain error", err)
		}
		if _, err := k.Stock(t.Context(), "s"); err == nil {
			t.Fatal("read from a server that stands still")
		}
		must(t, s.Resume())
		must(t, k.Record(t.Context(), b))
		k.taken(t, 8)
	})
}

// TestANetworkThatLosesACommit: the connection breaks in all the ways in which
// one can, while a COMMIT is on its way. What Recorded says at another node is
// what stays.
func TestANetworkThatLosesACommit(t *testing.T) {
	t.Parallel()
	s := newSchema(t)
	proxy := testenv.NewProxy(t, server.Server(t).Addr)
	inside := func() {}
	through := s.through(t, proxy.Addr)
	// Together shorter than the 3 seconds after which the server ends a paused transaction.
	k := newTill(t, through, postgres.Options{Patience: 2 * time.Second, LockWait: 500 * time.Millisecond, Commit: func(commit func() error) error {
		inside()
		return commit()
	}})
	other := opened(t, s.url, postgres.Options{})
	taken := int64(0)
	for _, c := range []struct {
		name string
		harm func()
		heal func() // while Recorded waits
		ends string // what became of the batch
	}{
		{"cut off", func() { proxy.Cut() }, func() {}, "lost"},
		{"the commit is lost, and nobody is told", func() { proxy.Swallow(testenv.Both) }, func() {}, "lost"},
		{"the answer is lost", func() { proxy.Swallow(testenv.ToClient) }, func() {}, "recorded"},
		// Unless the request to cancel it overtakes it, which a client that gives up sends too.
		{"the commit comes late", func() { proxy.Hold(testenv.ToServer) }, func() { must(t, proxy.Heal()) }, "either"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := k.next(k.grant(1))
			inside = c.harm
			err := k.Record(t.Context(), b)
			inside = func() {}
			if !errors.Is(err, rushgate.ErrUnknown) {
				t.Fatalf("got %v, want ErrUnknown", err)
			}
			asked := make(chan struct{})
			var yes bool
			go func() {
				defer close(asked)
				yes, err = other.Recorded(t.Context(), b)
			}()
			waits(t, s, asked) // for the commit, unless its end is known already
			c.heal()
			<-asked
			if err != nil || yes && c.ends == "lost" || !yes && c.ends == "recorded" {
				t.Fatalf("Recorded says %v, %v", yes, err)
			}
			if yes {
				taken++
			}
			must(t, proxy.Heal())
			if again := k.settled(t, b); again != yes {
				t.Fatalf("Recorded says %v here, and said %v there", again, yes)
			}
			k.taken(t, taken)
		})
	}
}

// waits returns when a session waits for a lock, or done is closed.
func waits(t testing.TB, s schema, done <-chan struct{}) {
	t.Helper()
	for !s.Waiting(t) {
		select {
		case <-done:
			return
		default:
		}
	}
}

// TestAPausedNodeIsThrownOut: a node that stands still in the middle of a batch
// has its sale for no longer than the others wait for it, and cannot commit
// when it wakes up.
func TestAPausedNodeIsThrownOut(t *testing.T) {
	t.Parallel()
	s := newSchema(t)
	other := newTill(t, s.url, postgres.Options{LockWait: 30 * time.Second}) // longer than any paused node may hold it
	other.ids = 1000
	var within error
	l := opened(t, s.url, postgres.Options{Commit: func(commit func() error) error {
		within = other.record(other.grant(1)) // which waits until this one is thrown out
		return commit()
	}})
	b := &rushgate.Batch{ID: 1_000_000, At: morning, Steps: []rushgate.Step{(&till{}).grant(1)}}
	if err := l.Record(t.Context(), b); !errors.Is(err, rushgate.ErrUnknown) {
		t.Fatalf("got %v, want ErrUnknown", err)
	}
	must(t, within)
	if yes, err := l.Recorded(t.Context(), b); yes || err != nil {
		t.Fatalf("Recorded says %v, %v", yes, err)
	}
	other.taken(t, 1)
}
