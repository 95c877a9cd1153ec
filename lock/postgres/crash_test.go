package postgres_test

import (
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"rushgate/lock"
	"rushgate/lock/locktest"
)

// crash is a server that is about to, and two who use it.
type crash struct {
	*testing.T
	p    *pgxpool.Pool
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
	"handed over among others": func(c *crash) *lock.Held {
		those := []lock.Claim{on("k", "first", 0)}
		for i := range 20 { // some of which come later than k, in the order of the server
			those = append(those, on(fmt.Sprint("k", i), "first", 0))
			c.b.Acquire(c.Context(), those[i+1])
		}
		return c.after(func() { c.b.Release(c.Context(), those) })
	},
	"handed over by who tries": func(c *crash) *lock.Held {
		return c.after(func() {
			c.expire("first")
			c.b.Acquire(c.Context(), on("k", "another", 0))
		})
	},
	"handed over by who leaves": func(c *crash) *lock.Held {
		return c.after(func() {
			c.expire("first")
			c.b.Release(c.Context(), []lock.Claim{on("k", "first", 0)})
		})
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

// expire ends a lease as time would.
func (c *crash) expire(owner string) {
	tag, err := c.p.Exec(c.Context(), "UPDATE lock.claims SET ends = clock_timestamp() WHERE owner = $1", owner)
	if err != nil || tag.RowsAffected() != 1 {
		c.Fatal(tag, err)
	}
}
