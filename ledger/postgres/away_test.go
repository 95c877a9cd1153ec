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
	k := newTill(t, through, postgres.Options{Patience: 2 * time.Second, LockWait: time.Second, Commit: func(commit func() error) error {
		inside()
		return commit()
	}})
	other := opened(t, s.url, postgres.Options{})
	taken := int64(0)
	for _, c := range []struct {
		name  string
		harm  func()
		heal  func() // while Recorded waits
		finds bool
	}{ // the last one may also come too late: the server waits 3 seconds for it
		{"cut off", func() { proxy.Cut() }, func() {}, false},
		{"the commit is lost, and nobody is told", func() { proxy.Swallow(testenv.Both) }, func() {}, false},
		{"the answer is lost", func() { proxy.Swallow(testenv.ToClient) }, func() {}, true},
		{"the commit comes late", func() { proxy.Hold(testenv.ToServer) }, func() { must(t, proxy.Heal()) }, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := k.next(k.grant(1))
			inside = c.harm
			err := k.Record(t.Context(), b)
			inside = func() {}
			if !errors.Is(err, rushgate.ErrUnknown) {
				t.Fatalf("got %v, want ErrUnknown", err)
			}
			healed, answered := make(chan struct{}), make(chan struct{})
			go func() {
				defer close(healed)
				for c.finds && !s.Waiting(t) && recordedNever(t, s, b) { // Recorded waits for the commit
					select {
					case <-answered:
						return
					default:
					}
				}
				c.heal()
			}()
			yes, err := other.Recorded(t.Context(), b)
			close(answered)
			<-healed
			late := c.name == "the commit comes late"
			if err != nil || yes != c.finds && !late {
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

// recordedNever says that the row of a batch is not there yet.
func recordedNever(t testing.TB, s schema, b *rushgate.Batch) bool {
	t.Helper()
	var n int
	if err := s.admin.QueryRow(t.Context(), `SELECT count(*) FROM batches WHERE id = $1`, b.ID).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n == 0
}

// TestAPausedNodeIsThrownOut: a node that stands still in the middle of a batch
// has its sale for no longer than the others wait for it, and cannot commit
// when it wakes up.
func TestAPausedNodeIsThrownOut(t *testing.T) {
	t.Parallel()
	s := newSchema(t)
	other := newTill(t, s.url, postgres.Options{})
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
