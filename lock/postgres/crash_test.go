package postgres_test

import (
	"testing"

	"rushgate/lock"
	"rushgate/lock/locktest"
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
