package oncesql_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	"rushgate/once"
	oncesql "rushgate/once/sql"
)

// TestDoBesideDoTx: while a transaction has a key, nobody can see that, and Do says so,
// as of any attempt: it is in progress. Who waits gets the result, or, when the
// transaction has failed, the key.
func TestDoBesideDoTx(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	theirs := func(context.Context, once.Attempt) ([]byte, error) { return []byte("theirs"), nil }
	for name, c := range map[string]struct {
		before  bool  // there is a record of an attempt that failed
		failure error // of the transaction
		want    once.Result
	}{
		"a new key":                {want: once.Result{Value: []byte("paid"), Replayed: true}},
		"a key that was freed":     {before: true, want: once.Result{Value: []byte("paid"), Replayed: true}},
		"a transaction that fails": {failure: broken, want: once.Result{Value: []byte("theirs")}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onEach(t, func(t *testing.T, _ place, _ *sql.DB, s, other *oncesql.Store) {
				o, err := once.New(once.Config{Store: other, Patience: time.Minute, Timeout: 2 * time.Second})
				if err != nil {
					t.Fatal(err)
				}
				if c.before {
					if _, err := o.Do(t.Context(), "k", func(context.Context, once.Attempt) ([]byte, error) { return nil, broken }); !errors.Is(err, broken) {
						t.Fatal(err)
					}
				}
				got := make(chan once.Result, 1)
				_, err = s.DoTx(t.Context(), "k", oncesql.TxOptions{Request: []byte("one")}, func(ctx context.Context, tx *sql.Tx, _ once.Attempt) ([]byte, error) {
					for _, option := range []once.Option{once.Matching([]byte("one")), once.Matching([]byte("two"))} {
						if r, err := o.Do(ctx, "k", theirs, once.NoWait(), option); !errors.Is(err, once.ErrInProgress) {
							t.Errorf("while the transaction runs: %+v, %v", r, err)
						}
					}
					go func() {
						r, err := o.Do(t.Context(), "k", theirs, once.Matching([]byte("one")))
						if err != nil {
							t.Error(err)
						}
						got <- r
					}()
					return []byte("paid"), errors.Join(pay(ctx, tx), c.failure)
				})
				if !errors.Is(err, c.failure) {
					t.Fatal(err)
				}
				r := <-got
				if string(r.Value) != string(c.want.Value) || r.Replayed != c.want.Replayed {
					t.Errorf("%+v; want %+v", r, c.want)
				}
				if _, err := o.Do(t.Context(), "k", theirs, once.Matching([]byte("two"))); !errors.Is(err, once.ErrReused) {
					t.Errorf("another request: %v", err)
				}
			})
		})
	}
}

// TestRoundTrips: what the package documentation says that a Do costs.
func TestRoundTrips(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, p place, db *sql.DB, _, _ *oncesql.Store) {
		statements := 0
		o, err := once.New(once.Config{Store: p.watching(t, db.Driver(), func(string) { statements++ }),
			Lease: 10 * time.Minute, Timeout: 5 * time.Minute}) // who is not answered in time asks again)
		if err != nil {
			t.Fatal(err)
		}
		first := map[bool]int{true: 4, false: 3}[p.dialect == oncesql.MySQL]
		for _, want := range []int{first, 1} {
			statements = 0
			if _, err := o.Do(t.Context(), "k", func(context.Context, once.Attempt) ([]byte, error) { return nil, nil }); err != nil || statements != want {
				t.Errorf("%d statements, want %d: %v", statements, want, err)
			}
		}
	})
}
