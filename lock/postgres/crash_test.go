package postgres_test

import (
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"rushgate/internal/testenv"
	"rushgate/lock"
	"rushgate/lock/locktest"
	"rushgate/lock/postgres"
)

// crash is a server that is about to, and two who use it.
type crash struct {
	*testing.T
	b    lock.Backend
	l, m *lock.Locker
	also *lock.Held // which m has of the same key, by the same owner
}

// crashes are the ways in which l may get "k" before.
var crashes = map[string]func(*crash) *lock.Held{
	"asked for": func(c *crash) *lock.Held { return locktest.Take(c.T, c.l, "k") },
	"held once more": func(c *crash) *lock.Held {
		var err error
		if c.also, err = c.m.Lock(c.Context(), "k", lock.As("job")); err != nil {
			c.Fatal(err)
		}
		h, err := c.l.Lock(c.Context(), "k", lock.As("job"))
		if err != nil {
			c.Fatal(err)
		}
		return h
	},
	"handed over": func(c *crash) *lock.Held {
		return c.after(func() { c.b.Release(c.Context(), []lock.Claim{on("k", "first", 0)}) })
	},
}

// after returns what l gets out of the line when the first holder has gone.
func (c *crash) after(gone func()) *lock.Held {
	if a := c.b.Acquire(c.Context(), on("k", "first", 0)); a.State != lock.Granted {
		c.Fatal(a)
	}
	next := make(chan *lock.Held, 1)
	go func() {
		h, err := c.l.Lock(c.Context(), "k")
		if err != nil {
			c.Error(err)
		}
		next <- h
	}()
	locktest.Queued(c.T, c.b, "k")
	gone()
	return <-next
}

// Whoever is told of a hand-over has the lock, whatever happens then to the server:
// whether the holder has gone, or somebody noticed that its lease is over.
func TestAHandOverOutlivesACrash(t *testing.T) {
	over := func(t *testing.T, p *pgxpool.Pool) {
		if _, err := p.Exec(t.Context(), "UPDATE lock.claims SET ends = clock_timestamp() WHERE key = 'k' AND fence > 0"); err != nil {
			t.Fatal(err)
		}
	}
	for name, handOver := range map[string]func(*testing.T, *pgxpool.Pool, lock.Backend){
		"a release": func(t *testing.T, _ *pgxpool.Pool, b lock.Backend) {
			b.Release(t.Context(), []lock.Claim{on("k", "first", 0)})
		},
		"a refusal": func(t *testing.T, p *pgxpool.Pool, b lock.Backend) {
			over(t, p)
			b.Acquire(t.Context(), on("k", "third", 0))
		},
		"a release that comes too late": func(t *testing.T, p *pgxpool.Pool, b lock.Backend) {
			over(t, p)
			b.Release(t.Context(), []lock.Claim{on("k", "first", 0)})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()                                         // it waits more than it works
			own := testenv.PostgreSQL(t, "wal_writer_delay=10s") // what is not flushed by its commit is lost
			p := pool(t, own.NewDatabase(t))
			b := backend(t, p, postgres.Options{})
			told, ready, ended := make(chan lock.Grant, 1), make(chan struct{}), make(chan error, 1)
			go func() {
				ended <- b.Listen(t.Context(), "node", func() { close(ready) }, func(g lock.Grant) { told <- g })
			}()
			<-ready
			if a := b.Acquire(t.Context(), on("k", "first", 0)); a.State != lock.Granted {
				t.Fatal(a)
			}
			if a := b.Acquire(t.Context(), on("k", "second", 1)); a.State != lock.Waiting {
				t.Fatal(a)
			}
			handOver(t, p, b)
			grant := <-told
			own.Kill()
			<-ended
			if err := own.Start(); err != nil {
				t.Fatal(err)
			}
			p.Reset() // its connections are gone
			var owner string
			var fence uint64
			err := p.QueryRow(t.Context(), "SELECT owner, fence FROM lock.claims WHERE key = 'k' AND fence > 0").Scan(&owner, &fence)
			if err != nil || owner != "second" || fence != grant.Fence {
				t.Fatalf("the second was told of a fence of %d; after the crash %q has one of %d, %v", grant.Fence, owner, fence, err)
			}
		})
	}
}
