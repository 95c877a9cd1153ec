package mysql_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"rushgate"
	"rushgate/ledger/mysql"
)

// TestStockThatDoesNotHaveWhatIsGivenBack: a stock row that somebody has
// spoiled must stop its own sale and no other, so the barrier names the sale.
func TestStockThatDoesNotHaveWhatIsGivenBack(t *testing.T) {
	d := fresh(t)
	k := newTill(t, string(d), mysql.Options{})
	hand := d.hand(t)
	for to, spoil := range map[rushgate.State]string{
		rushgate.Released:     `UPDATE items SET taken = 0, confirmed = 0`,
		rushgate.ExpiredState: `UPDATE items SET taken = 0, confirmed = 0`,
		rushgate.Confirmed:    `UPDATE items SET confirmed = taken`,
	} {
		t.Run(string(to), func(t *testing.T) {
			g := k.grant(1)
			if err := k.record(g); err != nil {
				t.Fatal(err)
			}
			d.do(t, hand, spoil)
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
	k := newTill(t, string(fresh(t)), mysql.Options{Readers: 1})
	g := k.grant(3)
	if err := k.record(g); err != nil {
		t.Fatal(err)
	}
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
	d := fresh(t)
	k := newTill(t, string(d), mysql.Options{Patience: time.Minute, LockWait: time.Minute, Readers: 1})
	seller := rushgate.Lease{Name: "seller", Holder: "ann"}
	lease, _, err := k.Acquire(t.Context(), seller, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	hand, watcher := d.hand(t), d.hand(t)
	d.do(t, hand, `LOCK TABLES claims WRITE`)
	ctx, cancel := context.WithCancel(t.Context())
	var crowd sync.WaitGroup
	var answered atomic.Int64
	for range 8 {
		crowd.Go(func() {
			_, _ = k.Find(ctx, "s", []rushgate.ID{1}, nil) // nothing is there, and nobody waits for the end
			answered.Add(1)
		})
	}
	for waiting := 0; waiting < 2; { // all connections for short reads
		err := watcher.QueryRowContext(t.Context(), `SELECT count(*) FROM information_schema.processlist
			WHERE db = DATABASE() AND state LIKE 'Waiting for table%'`).Scan(&waiting)
		if err != nil {
			t.Fatal(err)
		}
	}
	got, held, err := k.Acquire(t.Context(), seller, 2*time.Hour)
	if err != nil || !held || got.Term != lease.Term {
		t.Errorf("renewed: %+v, %v, %v", got, held, err)
	}
	if list, err := k.Held(t.Context(), ""); err != nil || len(list) != 1 {
		t.Errorf("held: %+v, %v", list, err)
	}
	if n := answered.Load(); n > 0 {
		t.Errorf("%d of the crowd had their answer before", n)
	}
	cancel()
	d.do(t, hand, `UNLOCK TABLES`)
	crowd.Wait()
}

// TestADeadlockIsTriedAgain: the server ends our transaction for the sake of
// another one; nobody hears of it.
func TestADeadlockIsTriedAgain(t *testing.T) {
	d := fresh(t)
	k := newTill(t, string(d), mysql.Options{LockWait: time.Minute})
	hand := d.hand(t)
	d.do(t, hand, `START TRANSACTION`)
	for i := range 200 { // so that it is ours that is ended
		d.do(t, hand, `INSERT INTO batches (id, at) VALUES (?, 0)`, 1_000_000+i)
	}
	d.do(t, hand, `SELECT * FROM items FOR UPDATE`)
	done := make(chan error)
	go func() { done <- k.record(k.grant(1)) }()
	for !d.Waiting(t) { // it has the sale, and waits for the item
		select {
		case err := <-done:
			t.Fatalf("it was over at once: %v", err)
		default:
		}
	}
	d.do(t, hand, `UPDATE sales SET name = 'by hand'`)
	d.do(t, hand, `COMMIT`)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	k.taken(t, 1)
}

// TestAConnectionThatIsKilled in the middle of a batch costs nobody anything.
func TestAConnectionThatIsKilled(t *testing.T) {
	d := fresh(t)
	k := newTill(t, string(d), mysql.Options{LockWait: time.Minute, Patience: time.Minute})
	hand := d.hand(t)
	d.do(t, hand, `START TRANSACTION`)
	d.do(t, hand, `SELECT * FROM items FOR UPDATE`)
	done := make(chan error)
	go func() { done <- k.record(k.grant(1)) }()
	for !d.Waiting(t) {
		select {
		case err := <-done:
			t.Fatalf("it was over at once: %v", err)
		default:
		}
	}
	victim := sql(t, server.Server(t), `SELECT trx_mysql_thread_id FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'`)
	sql(t, server.Server(t), `KILL CONNECTION `+victim)
	d.do(t, hand, `ROLLBACK`)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	k.taken(t, 1)
}

// TestAChangeThatChangesNothing is one all the same: conditions are met or not,
// whatever the server counts as a change.
func TestAChangeThatChangesNothing(t *testing.T) {
	k := newTill(t, string(fresh(t)), mysql.Options{})
	s, err := k.Sale(t.Context(), "s")
	if err != nil {
		t.Fatal(err)
	}
	if err := k.record(&rushgate.Put{Sale: s, Kind: rushgate.SaleChanged, Was: 1, Epoch: 1}, &rushgate.Restock{Sale: "s", Item: "a"}); err != nil {
		t.Fatal(err)
	}
	if list, err := k.Events(t.Context(), "s", 0, 10); err != nil || len(list) != 3 {
		t.Fatalf("events %+v, %v", list, err)
	}
}

// TestNamesAreBytes: no collation makes one of two.
func TestNamesAreBytes(t *testing.T) {
	k := newTill(t, string(fresh(t)), mysql.Options{})
	sale := &rushgate.Sale{ID: "limited", Name: "Sale", PerUser: 1, Hold: time.Hour, Ack: rushgate.Recorded, Epoch: 1, Version: 1, Shards: 1, CreatedAt: morning,
		Items: []rushgate.Item{{ID: "a", Stock: 100}, {ID: "A", Stock: 100}, {ID: "a.", Stock: 100}}}
	names := []string{"ann", "Ann", "ann ", "ànn", "a\u0300nn", "ß", "ss", "ｓｓ", "😀", "😁", `\'`, `'`, "?", "--", "ann\t", "\x00ann"}
	g := &rushgate.Grant{Sale: "limited", Epoch: 1, PerUser: 1}
	for i, n := range names {
		g.Claims = append(g.Claims, rushgate.Claim{ID: rushgate.ID(1000 + i), Sale: "limited", Item: []string{"a", "A", "a."}[i%3], User: n, Key: "key " + n, Quantity: 1,
			State: rushgate.Held, CreatedAt: morning, ExpiresAt: morning.Add(time.Hour)})
	}
	if err := k.record(&rushgate.Put{Sale: sale, Kind: rushgate.SaleCreated}, g); err != nil {
		t.Fatal(err)
	}
	for _, want := range g.Claims {
		found, err := k.Find(t.Context(), "limited", nil, []string{want.Key})
		if err != nil || len(found) != 1 || found[0] != want {
			t.Errorf("%q by its key: %+v, %v", want.User, found, err)
		}
		listed, err := k.Claims(t.Context(), rushgate.ClaimQuery{Sale: "limited", User: want.User, Limit: 10})
		if err != nil || len(listed) != 1 || listed[0] != want {
			t.Errorf("%q by its user: %+v, %v", want.User, listed, err)
		}
	}
}

// TestABatchLongerThanAScript is divided, as the server here takes no statement
// of more than 2 MiB, and is one transaction all the same.
func TestABatchLongerThanAScript(t *testing.T) {
	k := newTill(t, string(fresh(t)), mysql.Options{})
	g := k.grant(5_000)
	for i := range g.Claims {
		c := &g.Claims[i]
		c.User, c.Key = strings.Repeat("u", 120)+c.ID.String(), strings.Repeat("k", 450)+c.ID.String()
	}
	last := *g
	last.Claims = append(last.Claims[:len(last.Claims):len(last.Claims)], last.Claims[0])
	var barrier *rushgate.BarrierError
	if err := k.record(&last); !errors.As(err, &barrier) || barrier.Barrier != rushgate.BarrierID {
		t.Fatalf("the last row is the first one again: %v", err)
	}
	k.taken(t, 0)
	if err := k.record(g); err != nil {
		t.Fatal(err)
	}
	m := &rushgate.Move{Sale: "s", To: rushgate.Released}
	for _, c := range g.Claims {
		m.IDs = append(m.IDs, c.ID)
	}
	if err := k.record(m); err != nil || len(m.Moved) != len(g.Claims) {
		t.Fatalf("%d moved, %v", len(m.Moved), err)
	}
	y, err := k.Tally(t.Context(), "s")
	if err != nil || y.SeqGaps != 0 || y.BadHistory != 0 || y.LastSeq != 10_001 || y.Claims[rushgate.Released] != 5_000 {
		t.Fatalf("%+v, %v", y, err)
	}
}

// TestWhatIsLookedForIsFoundThroughAnIndex counts the rows that the server looks
// at: however many claims a sale or a user has, a page must begin where the last
// one ended, and a batch must find its claims by their ids.
func TestWhatIsLookedForIsFoundThroughAnIndex(t *testing.T) {
	d := fresh(t)
	k := newTill(t, string(d), mysql.Options{Writers: 1, Readers: 1})
	g := k.grant(4_000)
	for i := range g.Claims {
		g.Claims[i].User = []string{"ann", "bob"}[i%2]
	}
	if err := k.record(g); err != nil {
		t.Fatal(err)
	}
	looked := func() (n int) {
		for line := range strings.Lines(sql(t, server.Server(t), `SHOW GLOBAL STATUS WHERE Variable_name IN
			('Handler_icp_attempts', 'Handler_read_key', 'Handler_read_next', 'Handler_read_rnd_next', 'Handler_read_first', 'Handler_read_prev')`)) {
			var name string
			var value int
			if _, err := fmt.Sscan(line, &name, &value); err != nil {
				t.Fatal(err)
			}
			n += value
		}
		return n
	}
	idle := looked()
	idle = looked() - idle // what looking costs
	for name, do := range map[string]func() error{
		"a page": func() error {
			_, err := k.Claims(t.Context(), rushgate.ClaimQuery{Sale: "s", State: rushgate.Held, After: g.Claims[3_000].ID, Limit: 10})
			return err
		},
		"a page of a user": func() error {
			_, err := k.Claims(t.Context(), rushgate.ClaimQuery{Sale: "s", User: "ann", Item: "a", After: g.Claims[3_900].ID, Limit: 10})
			return err
		},
		"the oldest": func() error { _, err := k.Expired(t.Context(), morning.Add(2*time.Hour), 10); return err },
		"an event":   func() error { _, err := k.Events(t.Context(), "s", 3_000, 10); return err },
		"a move": func() error {
			return k.record(&rushgate.Move{Sale: "s", To: rushgate.Released, IDs: []rushgate.ID{7, 8, 9}})
		},
		"a grant":   func() error { return k.record(k.grant(3)) },
		"the marks": func() error { _, err := k.Marks(t.Context()); return err },
		"the last":  func() error { _, err := k.LastID(t.Context()); return err },
	} {
		before := looked()
		if err := do(); err != nil {
			t.Fatal(err)
		}
		bound := 100
		if name == "a page of a user" {
			bound = 2_100 // the entries of all claims of hers, in an index
		}
		if n := looked() - before - idle; n > bound {
			t.Errorf("%s: the server looked at %d rows", name, n)
		}
	}
}
