package mysql_test

import (
	"context"
	stdsql "database/sql"
	"errors"
	"fmt"
	"testing"
	"time"

	"rushgate"
	"rushgate/internal/testenv"
	"rushgate/ledger/mysql"
)

// till is a ledger with one sale of one item.
type till struct {
	*mysql.Ledger
	batch int64
	ids   rushgate.ID
}

// newTill opens a ledger and makes its sale.
func newTill(t testing.TB, url string, opts mysql.Options) *till {
	t.Helper()
	l, err := mysql.Open(context.Background(), url, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	k := &till{Ledger: l}
	sale := &rushgate.Sale{ID: "s", Name: "Sale", Hold: time.Hour, Ack: rushgate.Recorded, Epoch: 1, Version: 1, Shards: 1, CreatedAt: morning,
		Items: []rushgate.Item{{ID: "a", Stock: rushgate.MaxStock}}}
	if err := k.record(&rushgate.Put{Sale: sale, Kind: rushgate.SaleCreated}); err != nil {
		t.Fatal(err)
	}
	return k
}

func (k *till) next(steps ...rushgate.Step) *rushgate.Batch {
	k.batch++
	return &rushgate.Batch{ID: k.batch, At: morning, Steps: steps}
}

func (k *till) record(steps ...rushgate.Step) error {
	return k.Record(context.Background(), k.next(steps...))
}

// grant makes n claims.
func (k *till) grant(n int) *rushgate.Grant {
	g := &rushgate.Grant{Sale: "s", Epoch: 1}
	for range n {
		k.ids++
		g.Claims = append(g.Claims, rushgate.Claim{ID: k.ids, Sale: "s", Item: "a", User: fmt.Sprint("user-", k.ids), Quantity: 1, Slot: rushgate.NoSlot,
			State: rushgate.Held, CreatedAt: morning, ExpiresAt: morning.Add(time.Hour)})
	}
	return g
}

func (k *till) taken(t testing.TB, want int64) {
	t.Helper()
	stock, err := k.Stock(context.Background(), "s")
	if err != nil || stock[0].Taken != want {
		t.Fatalf("stock %+v, %v; want %d taken", stock, err, want)
	}
}

// settled asks what became of a batch until the server answers.
func (k *till) settled(t testing.TB, b *rushgate.Batch) bool {
	t.Helper()
	for {
		yes, err := k.Recorded(t.Context(), b)
		if err == nil {
			return yes
		}
		if t.Context().Err() != nil {
			t.Fatal(err)
		}
	}
}

// TestAServerThatGoesAndComes: the ledger finds its way back by itself, and tells
// what was recorded.
func TestAServerThatGoesAndComes(t *testing.T) {
	t.Parallel()
	s := testenv.MariaDB(t)
	inside := func() {}
	k := newTill(t, s.NewDatabase(t), mysql.Options{Patience: 3 * time.Second, LockWait: time.Second, Commit: func(commit func() error) error {
		inside()
		return commit()
	}})
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(k.record(k.grant(3)))

	t.Run("restarted", func(t *testing.T) {
		s.Restart(t)
		must(k.record(k.grant(1)))
		k.taken(t, 4)
	})
	t.Run("away", func(t *testing.T) {
		s.Stop()
		b := k.next(k.grant(1))
		if err := k.Record(t.Context(), b); err == nil || errors.Is(err, rushgate.ErrUnknown) || errors.Is(err, rushgate.ErrLost) {
			t.Fatalf("got %v, want a plain error: nothing was written", err)
		}
		must(s.Start())
		must(k.Record(t.Context(), b))
		k.taken(t, 5)
	})
	t.Run("killed in a commit", func(t *testing.T) {
		inside = s.Kill
		b := k.next(k.grant(1))
		err := k.Record(t.Context(), b)
		inside = func() {}
		if err == nil {
			t.Fatal("recorded by nobody")
		}
		must(s.Start())
		if k.settled(t, b) {
			t.Fatal("a batch whose commit nobody has seen is said to be recorded")
		}
		k.taken(t, 5)
		must(k.Record(t.Context(), b))
		k.taken(t, 6)
	})
	t.Run("standing still in a commit, which it finds when it goes on", func(t *testing.T) {
		inside = func() { must(s.Pause()) }
		b := k.next(k.grant(1))
		err := k.Record(t.Context(), b)
		inside = func() {}
		if !errors.Is(err, rushgate.ErrUnknown) {
			t.Fatalf("got %v, want ErrUnknown", err)
		}
		if _, err := k.Recorded(t.Context(), b); err == nil {
			t.Fatal("Recorded knows what a server that stands still will do")
		}
		must(s.Resume())
		if !k.settled(t, b) {
			t.Fatal("the server found the commit, and Recorded did not")
		}
		k.taken(t, 7)
	})
	t.Run("standing still before a commit", func(t *testing.T) {
		must(s.Pause())
		if err := k.record(k.grant(1)); err == nil || errors.Is(err, rushgate.ErrUnknown) {
			t.Fatalf("got %v, want a plain error", err)
		}
		if _, err := k.Stock(t.Context(), "s"); err == nil {
			t.Fatal("read from a server that stands still")
		}
		if _, err := k.Tally(t.Context(), "s"); err == nil {
			t.Fatal("counted by a server that stands still")
		}
		must(s.Resume())
		k.taken(t, 7)
		must(k.record(k.grant(1)))
		k.taken(t, 8)
	})
	t.Run("read-only for a while", func(t *testing.T) {
		// The user who may do everything may write all the same: another one sells.
		plain := as(t, s, k, "SELECT, INSERT, UPDATE")
		sql(t, s, `SET GLOBAL read_only = 1`)
		err := plain.Record(t.Context(), k.next(k.grant(1)))
		sql(t, s, `SET GLOBAL read_only = 0`)
		hints(t, err, "the server is read-only")
		must(plain.Record(t.Context(), k.next(k.grant(1))))
	})
	t.Run("full", func(t *testing.T) {
		d := database(user(t, s, s.URL(sql(t, s, sqlWhere)), "crowd", "SELECT, INSERT, UPDATE"))
		sql(t, s, `SET GLOBAL max_connections = 10`)
		pool := d.pool(t)
		var err error
		for err == nil { // until there is no room
			var c *stdsql.Conn
			if c, err = pool.Conn(t.Context()); err == nil {
				t.Cleanup(func() { c.Close() })
			}
		}
		_, err = mysql.Open(t.Context(), string(d), mysql.Options{})
		hints(t, err, "the server takes no more connections: raise its max_connections")
	})
}
