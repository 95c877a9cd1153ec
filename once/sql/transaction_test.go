package oncesql_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"rushgate/once"
	oncesql "rushgate/once/sql"
)

// onEach runs a test on a fresh database of each kind, with two nodes.
func onEach(t *testing.T, test func(t *testing.T, p place, db *sql.DB, s, other *oncesql.Store)) {
	for name, fresh := range places() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := fresh(t)
			db, s := p.node(t)
			_, other := p.node(t)
			if _, err := db.ExecContext(t.Context(), `CREATE TABLE accounts (id integer PRIMARY KEY, balance bigint NOT NULL)`); err != nil {
				t.Fatal(err)
			}
			if _, err := db.ExecContext(t.Context(), `INSERT INTO accounts VALUES (1, 0)`); err != nil {
				t.Fatal(err)
			}
			test(t, p, db, s, other)
		})
	}
}

// pay adds one to the account, in the transaction that it is given.
func pay(ctx context.Context, tx *sql.Tx) error {
	_, err := tx.ExecContext(ctx, `UPDATE accounts SET balance = balance + 1 WHERE id = 1`)
	return err
}

func wantBalance(t *testing.T, db *sql.DB, want int) {
	t.Helper()
	var got int
	if err := db.QueryRowContext(context.Background(), `SELECT balance FROM accounts WHERE id = 1`).Scan(&got); err != nil || got != want {
		t.Fatalf("the balance is %d, %v; want %d", got, err, want)
	}
}

func paying(ctx context.Context, tx *sql.Tx, _ once.Attempt) ([]byte, error) {
	return []byte("paid"), pay(ctx, tx)
}

// TestExactlyOnce: many callers on two nodes want the same few payments, each of
// which changes the same row, and many of them fail after they have paid.
func TestExactlyOnce(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, _ place, db *sql.DB, s, other *oncesql.Store) {
		const keys, callers = 6, 8
		broken := errors.New("broken")
		var all sync.WaitGroup
		var mu sync.Mutex
		got := map[string][]once.Result{}
		for c := range callers {
			store := []*oncesql.Store{s, other}[c%2]
			all.Go(func() {
				for k := range keys {
					key := fmt.Sprint("payment-", (k+c)%keys)
					err := broken
					for r := (once.Result{}); errors.Is(err, broken); {
						r, err = store.DoTx(t.Context(), key, oncesql.TxOptions{}, func(ctx context.Context, tx *sql.Tx, a once.Attempt) ([]byte, error) {
							if err := pay(ctx, tx); err != nil {
								return nil, err
							}
							if rand.IntN(3) == 0 {
								return nil, broken
							}
							return fmt.Append(nil, "by ", c), nil
						})
						if err == nil {
							mu.Lock()
							got[key] = append(got[key], r)
							mu.Unlock()
						}
					}
					if err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		all.Wait()
		wantBalance(t, db, keys)
		for key, results := range got {
			first := 0
			for _, r := range results {
				if !r.Replayed {
					first++
				}
				if string(r.Value) != string(results[0].Value) || r.Token != results[0].Token {
					t.Errorf("%s: %+v and %+v", key, r, results[0])
				}
			}
			if first != 1 || len(results) != callers {
				t.Errorf("%s: %d of %d results are told as first", key, first, len(results))
			}
		}
	})
}

// TestWhatFailsIsUndone: an error, a panic and a permanent failure leave nothing
// behind of what the work has done; the last one is kept.
func TestWhatFailsIsUndone(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, _ place, db *sql.DB, s, other *oncesql.Store) {
		ctx, broken := t.Context(), errors.New("broken")
		failing := func(failure error) oncesql.TxWork {
			return func(ctx context.Context, tx *sql.Tx, a once.Attempt) ([]byte, error) {
				return nil, errors.Join(pay(ctx, tx), failure)
			}
		}
		if _, err := s.DoTx(ctx, "k", oncesql.TxOptions{}, failing(broken)); !errors.Is(err, broken) {
			t.Fatal(err)
		}
		func() {
			defer func() { _ = recover() }()
			_, _ = s.DoTx(ctx, "k", oncesql.TxOptions{}, func(ctx context.Context, tx *sql.Tx, _ once.Attempt) ([]byte, error) {
				panic(pay(ctx, tx))
			})
		}()
		wantBalance(t, db, 0)
		for _, store := range []*oncesql.Store{s, other, s} {
			if _, err := store.DoTx(ctx, "k", oncesql.TxOptions{}, failing(once.Permanent(broken))); !errors.Is(err, once.ErrFailed) {
				t.Fatal(err)
			}
		}
		wantBalance(t, db, 0)
		if _, err := s.DoTx(ctx, "l", oncesql.TxOptions{MaxResult: 3}, paying); !errors.Is(err, once.ErrTooLarge) {
			t.Fatal(err)
		}
		wantBalance(t, db, 0)
	})
}

// TestKeysAreSharedWithDo: the same key cannot be done in both ways.
func TestKeysAreSharedWithDo(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, _ place, db *sql.DB, s, other *oncesql.Store) {
		o, err := once.New(once.Config{Store: other})
		if err != nil {
			t.Fatal(err)
		}
		r, err := o.Do(t.Context(), "done", func(ctx context.Context, _ once.Attempt) ([]byte, error) {
			if _, err := s.DoTx(ctx, "done", oncesql.TxOptions{}, paying); !errors.Is(err, once.ErrInProgress) {
				t.Errorf("while Do runs: %v", err)
			}
			return []byte("v"), nil
		})
		if err != nil || r.Replayed {
			t.Fatal(r, err)
		}
		if r, err := s.DoTx(t.Context(), "done", oncesql.TxOptions{}, paying); err != nil || string(r.Value) != "v" || !r.Replayed {
			t.Fatal(r, err)
		}
		if _, err := s.DoTx(t.Context(), "paid", oncesql.TxOptions{Request: []byte("one")}, paying); err != nil {
			t.Fatal(err)
		}
		if r, err := o.Do(t.Context(), "paid", nil, once.Matching([]byte("one"))); err != nil || string(r.Value) != "paid" || !r.Replayed {
			t.Fatal(r, err)
		}
		for _, o := range []oncesql.TxOptions{{}, {Request: []byte("two")}} {
			if _, err := other.DoTx(t.Context(), "paid", o, paying); !errors.Is(err, once.ErrReused) {
				t.Fatal(err)
			}
		}
		wantBalance(t, db, 1)
	})
}

// TestExpiredRecordsAreSweptAway, and count for nothing before that.
func TestExpiredRecordsAreSweptAway(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, _ place, db *sql.DB, s, _ *oncesql.Store) {
		ctx := t.Context()
		for i := range 5 {
			if _, err := s.DoTx(ctx, fmt.Sprint("short-", i), oncesql.TxOptions{Keep: time.Millisecond}, paying); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := s.DoTx(ctx, "long", oncesql.TxOptions{}, paying); err != nil {
			t.Fatal(err)
		}
		await(t, "the results expire", func() bool {
			state, err := s.Look(ctx, "short-4")
			return err == nil && state.Phase == once.Free
		})
		if r, err := s.DoTx(ctx, "short-4", oncesql.TxOptions{}, paying); err != nil || r.Replayed || r.Number != 1 {
			t.Fatalf("%+v, %v", r, err)
		}
		for _, want := range []int64{3, 1, 0} {
			if n, err := s.Sweep(ctx, 3); err != nil || n != want {
				t.Fatalf("swept %d, %v; want %d", n, err, want)
			}
		}
		if state, err := s.Look(ctx, "long"); err != nil || state.Phase != once.Done {
			t.Fatalf("%+v, %v", state, err)
		}
		wantBalance(t, db, 7)
	})
}

// await asks until the answer is yes.
func await(t *testing.T, what string, ask func() bool) {
	t.Helper()
	deadline := time.NewTimer(30 * time.Second)
	defer deadline.Stop()
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	for !ask() {
		select {
		case <-again.C:
		case <-deadline.C:
			t.Fatalf("it never happens that %s", what)
		}
	}
}
