package oncesql_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rushgate/once"
	oncesql "rushgate/once/sql"
)

// execute runs statements.
func execute(t *testing.T, db *sql.DB, statements ...string) {
	t.Helper()
	for _, statement := range statements {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
}

// beaten opens a store that is told to try again when an error says so, and
// before it does, somebody else acts.
func beaten(t *testing.T, db *sql.DB, d oncesql.Dialect, meanwhile func() error) *oncesql.Store {
	t.Helper()
	var once sync.Once
	s, err := oncesql.New(db, d, oncesql.Options{Transient: func(err error) bool {
		once.Do(func() {
			if err := meanwhile(); err != nil {
				t.Error(err)
			}
		})
		return strings.Contains(err.Error(), "lost a race")
	}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestCommitThatFails: rows of a statement arrive, and then its commit fails, as
// with SERIALIZABLE it may. Somebody else is first before it is tried again: what
// the failed try had added does not count.
func TestCommitThatFails(t *testing.T) {
	t.Parallel()
	p := places()["postgres"](t)
	db, other := p.node(t)
	execute(t, db, `CREATE SEQUENCE commits`,
		`CREATE FUNCTION fails_once() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
			IF nextval('commits') = 1 THEN RAISE EXCEPTION 'lost a race' USING ERRCODE = 'serialization_failure'; END IF;
			RETURN NULL; END $$`,
		`CREATE CONSTRAINT TRIGGER fails_once AFTER INSERT ON once_marks DEFERRABLE INITIALLY DEFERRED
			FOR EACH ROW EXECUTE FUNCTION fails_once()`)
	members, theirs, ours := []string{"ann", "ben", "cat"}, make([]bool, 2), make([]bool, 3)
	s := beaten(t, db, p.dialect, func() error { return other.Mark(t.Context(), "s", "", members[:2], theirs) })
	if err := s.Mark(t.Context(), "s", "", members, ours); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([][]bool{{true, true}, {false, false, true}}, [][]bool{theirs, ours}); diff != "" {
		t.Error(diff)
	}
}

// TestUndoThatFails: a transaction has seen what it will take out, and loses a
// deadlock. Somebody else takes it out before it is tried again.
func TestUndoThatFails(t *testing.T) {
	t.Parallel()
	p := places()["mariadb"](t)
	db, other := p.node(t)
	execute(t, db, `CREATE SEQUENCE undone`,
		`CREATE TRIGGER fails_once BEFORE DELETE ON once_marks FOR EACH ROW
			IF nextval(undone) = 1 THEN SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1213, MESSAGE_TEXT = 'lost a race'; END IF`)
	members, theirs, ours := []string{"ann", "ben", "cat"}, make([]bool, 2), make([]bool, 3)
	if err := other.Mark(t.Context(), "s", "", members, make([]bool, 3)); err != nil {
		t.Fatal(err)
	}
	s := beaten(t, db, p.dialect, func() error { return other.Unmark(t.Context(), "s", members[:2], theirs) })
	if err := s.Unmark(t.Context(), "s", members, ours); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([][]bool{{true, true}, {false, false, true}}, [][]bool{theirs, ours}); diff != "" {
		t.Error(diff)
	}
}

// TestTransactionThatIsGone: the database has undone the transaction under the
// work, which takes no notice. Nothing would be recorded, so nothing is told as done.
func TestTransactionThatIsGone(t *testing.T) {
	t.Parallel()
	undoes := map[oncesql.Dialect]string{oncesql.Postgres: `ROLLBACK`, oncesql.MySQL: `ROLLBACK`,
		oncesql.SQLite: `INSERT OR ROLLBACK INTO accounts VALUES (1, 0)`}
	onEach(t, func(t *testing.T, p place, db *sql.DB, s, _ *oncesql.Store) {
		r, err := s.DoTx(t.Context(), "k", oncesql.TxOptions{}, func(ctx context.Context, tx *sql.Tx, _ once.Attempt) ([]byte, error) {
			if err := pay(ctx, tx); err != nil {
				return nil, err
			}
			_, _ = tx.ExecContext(ctx, undoes[p.dialect])
			return []byte("paid"), nil
		})
		if err == nil {
			t.Errorf("told as done: %+v", r)
		}
		wantBalance(t, db, 0)
		if r, err := s.DoTx(t.Context(), "k", oncesql.TxOptions{}, paying); err != nil || r.Replayed {
			t.Errorf("%+v, %v", r, err)
		}
		wantBalance(t, db, 1)
	})
}

// TestRecordThatIsSweptMeanwhile: between the two looks at the record of a key it
// goes. (A trigger takes the part of Sweep, at the only moment that matters.)
func TestRecordThatIsSweptMeanwhile(t *testing.T) {
	t.Parallel()
	p := places()["postgres"](t)
	db, s := p.node(t)
	broken := errors.New("broken")
	_, err := s.DoTx(t.Context(), "k", oncesql.TxOptions{}, func(context.Context, *sql.Tx, once.Attempt) ([]byte, error) {
		return nil, once.Permanent(broken)
	})
	if !errors.Is(err, broken) {
		t.Fatal(err)
	}
	execute(t, db, `CREATE SEQUENCE sweeps`,
		`CREATE FUNCTION sweeps() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
			IF nextval('sweeps') = 1 THEN DELETE FROM once_runs; END IF;
			RETURN NULL; END $$`,
		`CREATE TRIGGER sweeps AFTER INSERT ON once_runs FOR EACH STATEMENT EXECUTE FUNCTION sweeps()`)
	_, err = s.DoTx(t.Context(), "k", oncesql.TxOptions{}, func(context.Context, *sql.Tx, once.Attempt) ([]byte, error) {
		return []byte("v"), nil
	})
	// The trigger's own deletion is undone with the try that saw it.
	if !errors.Is(err, once.ErrFailed) {
		t.Errorf("%v; want the failure that is recorded", err)
	}
}

// TestTablesAreMadeTogether, by programs that start at the same time.
func TestTablesAreMadeTogether(t *testing.T) {
	t.Parallel()
	for name, fresh := range places() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := fresh(t)
			db, s, err := p.open()
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			var all sync.WaitGroup
			for range 8 {
				all.Go(func() {
					if err := s.CreateTables(t.Context()); err != nil {
						t.Error(err)
					}
				})
			}
			all.Wait()
		})
	}
}
