package oncesql_test

import (
	"database/sql"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rushgate/once"
	oncesql "rushgate/once/sql"
)

// meanwhile does something once, before the first statement that looks at marks: it
// returns when that is done, or waits for a lock of those who look.
func meanwhile(t *testing.T, db *sql.DB, d oncesql.Dialect, do func() error) (before func(string), end func()) {
	var once sync.Once
	var all sync.WaitGroup
	before = func(statement string) {
		if !strings.HasPrefix(statement, "SELECT") || !strings.Contains(statement, "_marks") {
			return
		}
		once.Do(func() {
			over := make(chan struct{})
			all.Go(func() {
				defer close(over)
				if err := do(); err != nil {
					t.Error(err)
				}
			})
			await(t, "what happens meanwhile is over, or waits", func() bool {
				select {
				case <-over:
					return true
				default:
					return d == oncesql.MySQL && waits(t, db)
				}
			})
		})
	}
	return before, all.Wait
}

// waits says that a transaction of this database's server waits for a lock on a mark.
func waits(t *testing.T, db *sql.DB) bool {
	var n int
	if err := db.QueryRowContext(t.Context(), `SELECT COUNT(*) FROM information_schema.innodb_trx
		WHERE trx_state = 'LOCK WAIT' AND trx_query LIKE '%once_marks%'`).Scan(&n); err != nil {
		t.Error(err)
	}
	return n > 0
}

// TestUndoBesideFirstEach: a mark is undone before FirstEach has told that it set it. It
// has set it all the same, and nobody else is told so.
func TestUndoBesideFirstEach(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, p place, db *sql.DB, s, other *oncesql.Store) {
		if err := other.Mark(t.Context(), "s", "", []string{"ann"}, make([]bool, 1)); err != nil {
			t.Fatal(err)
		}
		members, first, was := []string{"ann", "ben", "cat"}, make([]bool, 3), make([]bool, 1)
		before, end := meanwhile(t, db, p.dialect, func() error { return other.Unmark(t.Context(), "s", members[1:2], was) })
		if err := p.watching(t, db.Driver(), before).Mark(t.Context(), "s", "", members, first); err != nil {
			t.Fatal(err)
		}
		if end(); p.dialect != oncesql.MySQL { // the others say it in one statement
			if err := other.Unmark(t.Context(), "s", members[1:2], was); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff([][]bool{{false, true, true}, {true}}, [][]bool{first, was}); diff != "" {
			t.Error(diff)
		}
	})
}

// TestUndoBesideFirstBy: the mark that the bearer of the tag has set is there when he
// asks again, and is undone before its tag is read. Somebody is first then: he.
func TestUndoBesideFirstBy(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, p place, db *sql.DB, s, other *oncesql.Store) {
		member, first := []string{"ann"}, make([]bool, 1)
		if err := other.Mark(t.Context(), "s", "order-1", member, make([]bool, 1)); err != nil {
			t.Fatal(err)
		}
		before, end := meanwhile(t, db, p.dialect, func() error { return other.Unmark(t.Context(), "s", member, make([]bool, 1)) })
		if err := p.watching(t, db.Driver(), before).Mark(t.Context(), "s", "order-1", member, first); err != nil || !first[0] {
			t.Fatal(first, err)
		}
		end()
		marks, err := once.NewMarks(s)
		if err != nil {
			t.Fatal(err)
		}
		if is, err := marks.Has(t.Context(), "s", "ann"); err != nil || !is {
			t.Fatalf("he is first, and the mark is not there: %v, %v", is, err)
		}
	})
}
