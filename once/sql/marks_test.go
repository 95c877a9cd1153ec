package oncesql_test

import (
	"database/sql"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rushgate/once"
	oncesql "rushgate/once/sql"
)

// beforeLooking returns what does something once, before the first statement that reads
// marks.
func beforeLooking(do func()) (before func(statement string)) {
	var once sync.Once
	return func(statement string) {
		if strings.HasPrefix(statement, "SELECT") && strings.Contains(statement, "_marks") {
			once.Do(do)
		}
	}
}

// hasty opens a store that waits for no lock for longer than a second, and tries once.
func hasty(t *testing.T, p place) *oncesql.Store {
	t.Helper()
	if p.dialect == oncesql.MySQL {
		p = p.with("innodb_lock_wait_timeout=1")
	}
	db, _, err := p.open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	s, err := oncesql.New(db, p.dialect, oncesql.Options{Transient: func(error) bool { return false }})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestUndoBesideFirstEach: a mark is undone before FirstEach has told that it set it, if
// the database lets that happen. It has set it all the same, and nobody else is told so.
func TestUndoBesideFirstEach(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, p place, db *sql.DB, s, other *oncesql.Store) {
		if err := other.Mark(t.Context(), "s", "", []string{"ann"}, make([]bool, 1)); err != nil {
			t.Fatal(err)
		}
		members, first, was := []string{"ann", "ben", "cat"}, make([]bool, 3), make([]bool, 1)
		undone := errors.New("nobody has undone it")
		before := beforeLooking(func() { undone = hasty(t, p).Unmark(t.Context(), "s", members[1:2], was) })
		if err := p.watching(t, db.Driver(), before).Mark(t.Context(), "s", "", members, first); err != nil {
			t.Fatal(err)
		}
		if undone != nil { // as it waited for the transaction
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
		before := beforeLooking(func() {
			if err := other.Unmark(t.Context(), "s", member, make([]bool, 1)); err != nil {
				t.Error(err)
			}
		})
		if err := p.watching(t, db.Driver(), before).Mark(t.Context(), "s", "order-1", member, first); err != nil || !first[0] {
			t.Fatal(first, err)
		}
		marks, err := once.NewMarks(s)
		if err != nil {
			t.Fatal(err)
		}
		if is, err := marks.Has(t.Context(), "s", "ann"); err != nil || !is {
			t.Fatalf("he is first, and the mark is not there: %v, %v", is, err)
		}
	})
}
