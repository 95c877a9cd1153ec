package oncesql_test

import (
	"database/sql"
	"errors"
	"testing"

	"rushgate/internal/testenv"
	"rushgate/once"
	oncesql "rushgate/once/sql"
)

// TestAnswerOfTheCommitIsLost: the transaction is committed, and nobody hears of
// it. Asking again tells, and pays nothing.
func TestAnswerOfTheCommitIsLost(t *testing.T) {
	t.Parallel()
	addresses := map[oncesql.Dialect]func() string{
		oncesql.Postgres: func() string { return postgres.Server(t).Addr },
		oncesql.MySQL:    func() string { return mariadb.Server(t).Addr },
	}
	onEach(t, func(t *testing.T, p place, db *sql.DB, s, _ *oncesql.Store) {
		address := addresses[p.dialect]
		if address == nil {
			return // SQLite has no network
		}
		addr := address()
		proxy := testenv.NewProxy(t, addr)
		far := sql.OpenDB(&watched{db.Driver(), p.through(addr, proxy.Addr).dsn, func(statement string) {
			if statement == commit {
				proxy.Hold(testenv.ToClient)
			}
		}})
		defer far.Close()
		shaky, err := oncesql.New(far, p.dialect, oncesql.Options{})
		if err != nil {
			t.Fatal(err)
		}
		lost := make(chan error, 1)
		go func() {
			_, err := shaky.DoTx(t.Context(), "k", oncesql.TxOptions{}, paying)
			lost <- err
		}()
		await(t, "it is committed", func() bool {
			state, err := s.Look(t.Context(), "k")
			return err == nil && state.Phase == once.Done
		})
		proxy.Cut()
		if err := <-lost; !errors.Is(err, once.ErrUnrecorded) {
			t.Fatalf("the error is %v", err)
		}
		if r, err := s.DoTx(t.Context(), "k", oncesql.TxOptions{}, paying); err != nil || !r.Replayed || string(r.Value) != "paid" {
			t.Fatalf("%+v, %v", r, err)
		}
		wantBalance(t, db, 1)
	})
}
