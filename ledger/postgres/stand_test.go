package postgres_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"rushgate"
	"rushgate/ledger/postgres"
)

// TestStockThatDoesNotHaveWhatIsGivenBack: a stock row that somebody has
// spoiled must stop its own sale and no other, so the barrier names the sale.
func TestStockThatDoesNotHaveWhatIsGivenBack(t *testing.T) {
	s := newSchema(t)
	k := newTill(t, s.url, postgres.Options{})
	for to, spoil := range map[rushgate.State]string{
		rushgate.Released:     `UPDATE items SET taken = 0, confirmed = 0`,
		rushgate.ExpiredState: `UPDATE items SET taken = 0, confirmed = 0`,
		rushgate.Confirmed:    `UPDATE items SET confirmed = taken`,
	} {
		t.Run(string(to), func(t *testing.T) {
			g := k.grant(1)
			must(t, k.record(g))
			s.sql(t, spoil)
			b := k.next(&rushgate.Move{Sale: "s", To: to, IDs: []rushgate.ID{g.Claims[0].ID}})
			if to == rushgate.ExpiredState {
				b.At = morning.Add(time.Hour)
			}
			err := k.Record(t.Context(), b)
			var barrier *rushgate.BarrierError
			if !errors.As(err, &barrier) || barrier.Barrier != rushgate.BarrierStock || barrier.Sale != "s" {
				t.Fatalf("got %v", err)
			}
			if c, err := k.Claim(t.Context(), g.Claims[0].ID); err != nil || c.State != rushgate.Held {
				t.Fatalf("%+v, %v", c, err)
			}
		})
	}
}

// TestShortReadsDoNotWaitForLongOnes: audits and lists may hold every reader
// for as long as they like; what a desk must know is read all the same.
func TestShortReadsDoNotWaitForLongOnes(t *testing.T) {
	k := newTill(t, newSchema(t).url, postgres.Options{Readers: 1})
	g := k.grant(3)
	must(t, k.record(g))
	var long sync.WaitGroup
	reading, release := make(chan struct{}), make(chan struct{})
	long.Go(func() {
		err := k.Snapshot(t.Context(), "s", func(rushgate.Snapshot) error { close(reading); <-release; return nil })
		if err != nil {
			t.Error(err)
		}
	})
	<-reading
	k.taken(t, 3)
	if c, err := k.Claim(t.Context(), g.Claims[0].ID); err != nil || c.User != "user-1" {
		t.Errorf("claim: %+v, %v", c, err)
	}
	if yes, err := k.Recorded(t.Context(), &rushgate.Batch{ID: k.batch}); err != nil || !yes {
		t.Errorf("recorded: %v, %v", yes, err)
	}
	if _, held, err := k.Acquire(t.Context(), rushgate.Lease{Name: "n", Holder: "h"}, time.Second); err != nil || !held {
		t.Errorf("acquire: %v, %v", held, err)
	}
	close(release)
	long.Wait()
}

// TestALeaseIsRenewedWhileEverybodyReads: a crowd may want to know where it
// stands, more of it than there are connections; a lease does not wait for it.
func TestALeaseIsRenewedWhileEverybodyReads(t *testing.T) {
	t.Parallel()
	s := newSchema(t)
	k := newTill(t, s.url, postgres.Options{Patience: time.Minute, LockWait: time.Minute, Readers: 1})
	seller := rushgate.Lease{Name: "seller", Holder: "ann"}
	lease, _, err := k.Acquire(t.Context(), seller, time.Hour)
	must(t, err)
	end := s.begin(t, `LOCK TABLE claims IN ACCESS EXCLUSIVE MODE`)
	ctx, cancel := context.WithCancel(t.Context())
	var crowd sync.WaitGroup
	var answered atomic.Int64
	for range 4 * postgres.ShortConnections {
		crowd.Go(func() {
			_, _ = k.Find(ctx, "s", []rushgate.ID{1}, nil) // nothing is there, and nobody waits for the end
			answered.Add(1)
		})
	}
	for s.waiters(t) < postgres.ShortConnections {
	}
	got, held, err := k.Acquire(t.Context(), seller, 2*time.Hour)
	if err != nil || !held || got.Term != lease.Term {
		t.Errorf("renewed: %+v, %v, %v", got, held, err)
	}
	if list, err := k.Held(t.Context(), ""); err != nil || len(list) != 1 {
		t.Errorf("held: %+v, %v", list, err)
	}
	must(t, k.Release(t.Context(), got))
	if n := answered.Load(); n > 0 {
		t.Errorf("%d of the crowd had their answer before", n)
	}
	cancel()
	end(false)
	crowd.Wait()
}

// waiters counts the ledger's connections that wait for a lock.
func (s schema) waiters(t testing.TB) (n int) {
	t.Helper()
	must(t, s.admin.QueryRow(context.Background(),
		`SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND application_name = $1`, s.name).Scan(&n))
	return n
}

// TestWhoeverStopsReadingStops: the rest of a large sale is not waited for, and
// the connection that was in the middle of it is replaced.
func TestWhoeverStopsReadingStops(t *testing.T) {
	k := newTill(t, newSchema(t).url, postgres.Options{Readers: 1})
	for range 20 {
		must(t, k.record(k.grant(1000)))
	}
	for range 3 {
		n := 0
		err := k.Snapshot(t.Context(), "s", func(s rushgate.Snapshot) error {
			for range s.Claims {
				if n++; n == 10 {
					break
				}
			}
			return nil
		})
		if err != nil || n != 10 {
			t.Fatalf("%d claims, %v", n, err)
		}
	}
	if y, err := k.Tally(t.Context(), "s"); err != nil || y.Users != 20_000 {
		t.Fatalf("%+v, %v", y, err)
	}
}

// meddle holds the stock rows in a transaction of its own until a batch of the
// till waits for them, and calls then. It returns what became of the batch.
func meddle(t *testing.T, s schema, k *till, then func(end func(commit bool))) error {
	t.Helper()
	end := s.begin(t, `SELECT * FROM items FOR UPDATE`)
	done := make(chan error)
	go func() { done <- k.record(k.grant(1)) }()
	for !s.Waiting(t) { // it has the sale, and waits for the item
		select {
		case err := <-done:
			t.Fatalf("it was over at once: %v", err)
		default:
		}
	}
	then(end)
	return <-done
}

// TestADeadlockIsTriedAgain: the server ends our transaction for the sake of
// another one; nobody hears of it.
func TestADeadlockIsTriedAgain(t *testing.T) {
	t.Parallel()
	s := newSchema(t)
	k := newTill(t, s.url, postgres.Options{LockWait: time.Minute})
	before := k.deadlocks(t, s)
	// The hand that has the stock wants the sale as well. It is patient enough
	// for the server to find that ours must go.
	hand := s.hand(t)
	hand.sql(t, `SET deadlock_timeout = '1min'`)
	hand.sql(t, `BEGIN`)
	hand.sql(t, `SELECT * FROM items FOR UPDATE`)
	done := make(chan error)
	go func() { done <- k.record(k.grant(1)) }()
	for !s.Waiting(t) {
		select {
		case err := <-done:
			t.Fatalf("it was over at once: %v", err)
		default:
		}
	}
	hand.sql(t, `UPDATE sales SET name = 'by hand'`)
	hand.sql(t, `COMMIT`)
	must(t, <-done)
	k.taken(t, 1)
	for k.deadlocks(t, s) == before { // until the server has counted it
	}
}

func (k *till) deadlocks(t testing.TB, s schema) (n int64) {
	t.Helper()
	must(t, s.admin.QueryRow(t.Context(), `SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()`).Scan(&n))
	return n
}

// TestAConnectionThatIsKilled in the middle of a batch costs nobody anything.
func TestAConnectionThatIsKilled(t *testing.T) {
	t.Parallel()
	s := newSchema(t)
	k := newTill(t, s.url, postgres.Options{LockWait: time.Minute})
	must(t, meddle(t, s, k, func(end func(bool)) {
		s.sql(t, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND application_name = $1`, s.name)
		end(false)
	}))
	k.taken(t, 1)
}

// TestALockOfSomebodyElse: the wait is bounded, and the error says where to look.
func TestALockOfSomebodyElse(t *testing.T) {
	t.Parallel()
	s := newSchema(t)
	k := newTill(t, s.url, postgres.Options{LockWait: time.Second})
	end := s.begin(t, `SELECT * FROM items FOR UPDATE`)
	err := k.record(k.grant(1))
	end(false)
	hints(t, err, "pg_stat_activity")
	must(t, k.record(k.grant(1)))
}

// TestNamesAreBytes: what differs in a byte is somebody else.
func TestNamesAreBytes(t *testing.T) {
	k := newTill(t, newSchema(t).url, postgres.Options{})
	sale := &rushgate.Sale{ID: "bytes", PerUser: 1, Hold: time.Hour, Ack: rushgate.Recorded, Epoch: 1, Version: 1, Shards: 1, CreatedAt: morning,
		Items: []rushgate.Item{{ID: "a", Stock: 100}, {ID: "A", Stock: 100}}}
	must(t, k.record(&rushgate.Put{Sale: sale, Kind: rushgate.SaleCreated}))
	g := k.grant(0)
	g.Sale, g.PerUser = "bytes", 1
	for i, user := range []string{"ann", "Ann", "ANN", "ann.", "änn", "a\u0308nn", "李雷", "李雷 ", "🎫", "🎟", "ß", "ss", "ı", "i", `a\b`, "a%", "a_"} {
		k.ids++
		g.Claims = append(g.Claims, rushgate.Claim{ID: k.ids, Sale: "bytes", Item: []string{"a", "A"}[i%2], User: user, Quantity: 1,
			State: rushgate.Held, Key: user, CreatedAt: morning, ExpiresAt: morning.Add(time.Hour)})
	}
	must(t, k.record(g))
	for _, c := range g.Claims {
		got, err := k.Claims(t.Context(), rushgate.ClaimQuery{Sale: "bytes", User: c.User, Limit: 5})
		if err != nil || len(got) != 1 || got[0].ID != c.ID || got[0].Key != c.User {
			t.Errorf("%q: %+v, %v", c.User, got, err)
		}
	}
}

// TestWhatIsLookedForIsFoundThroughAnIndex, however many rows there are, and
// although the plans were made when there were none.
func TestWhatIsLookedForIsFoundThroughAnIndex(t *testing.T) {
	s := newSchema(t)
	k := newTill(t, s.url, postgres.Options{Writers: 1})
	s.sql(t, `ALTER TABLE claims SET (autovacuum_enabled = off)`)
	s.sql(t, `ANALYZE`)
	before := s.scans(t)
	must(t, k.record(&rushgate.Put{Kind: rushgate.SaleCreated, Sale: &rushgate.Sale{ID: "two", PerUser: 2, Hold: time.Hour, Ack: rushgate.Recorded,
		Epoch: 1, Version: 1, Shards: 1, CreatedAt: morning, Items: []rushgate.Item{{ID: "a", Stock: rushgate.MaxStock}}}}))
	limited := func(n int) *rushgate.Grant {
		g := k.grant(n)
		g.Sale, g.PerUser = "two", 2
		for i := range g.Claims {
			g.Claims[i].Sale, g.Claims[i].Slot = "two", 0
		}
		return g
	}
	first := k.grant(5)
	must(t, k.record(first))
	must(t, k.record(limited(5)))
	for i := range first.Claims { // the plans are made now
		must(t, k.record(&rushgate.Move{Sale: "s", To: rushgate.Confirmed, IDs: []rushgate.ID{first.Claims[i].ID}}))
	}
	for range 10 {
		must(t, k.record(k.grant(1000)))
		must(t, k.record(limited(1000)))
	}
	g := k.grant(20)
	must(t, k.record(g))
	ids := make([]rushgate.ID, len(g.Claims))
	for i := range ids {
		ids[i] = g.Claims[i].ID
	}
	must(t, k.record(&rushgate.Move{Sale: "s", To: rushgate.Confirmed, IDs: ids[:10]}))
	must(t, k.record(&rushgate.Move{Sale: "s", To: rushgate.Released, IDs: ids[10:]}))
	must(t, k.record(limited(20)))
	_, err := k.Find(t.Context(), "s", ids, []string{"x", "y"})
	must(t, err)
	_, err = k.Claim(t.Context(), ids[0])
	must(t, err)
	_, err = k.Expired(t.Context(), morning, 10)
	must(t, err)
	_, err = k.Claims(t.Context(), rushgate.ClaimQuery{Sale: "s", User: "user-77", Limit: 10})
	must(t, err)
	k.Close()
	for s.sessions(t) > 0 { // their counts are written when they end
	}
	after := s.scans(t)
	const limits = 10_000 + 25 // one for each user of the limited sale
	if rows := after.rows - limits; rows > 500 || after.whole != before.whole {
		t.Errorf("read %d rows through indexes and %d times everything", rows, after.whole-before.whole)
	}
}

type scans struct{ rows, whole int64 }

func (s schema) scans(t testing.TB) (n scans) {
	t.Helper()
	s.sql(t, `SELECT pg_stat_clear_snapshot()`)
	must(t, s.admin.QueryRow(context.Background(), `SELECT (SELECT coalesce(sum(idx_tup_read), 0)::bigint FROM pg_stat_user_indexes WHERE schemaname = $1 AND relname = 'claims'),
		(SELECT seq_scan FROM pg_stat_user_tables WHERE schemaname = $1 AND relname = 'claims')`, s.name).Scan(&n.rows, &n.whole))
	return n
}

// sessions counts the ledger's connections.
func (s schema) sessions(t testing.TB) (n int) {
	t.Helper()
	must(t, s.admin.QueryRow(context.Background(), `SELECT count(*) FROM pg_stat_activity WHERE application_name = $1`, s.name).Scan(&n))
	return n
}
