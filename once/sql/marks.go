package oncesql

import (
	"context"
	"database/sql"
	"encoding/json"
	"slices"

	"rushgate/once"
)

// Mark implements once.MarkStore.
func (s *Store) Mark(ctx context.Context, set, tag string, members []string, first []bool) error {
	if len(members) == 1 {
		return s.markOne(ctx, set, tag, members, first)
	}
	list, err := json.Marshal(members)
	if err != nil {
		return wrap("mark", err)
	}
	if s.dialect == MySQL {
		return s.markReading(ctx, set, tag, members, string(list), first)
	}
	if err := s.names(ctx, "mark", s.db, members, first, s.say.markAll, set, tag, string(list)); err != nil {
		return err
	}
	if tag == "" || !slices.Contains(first, false) {
		return nil
	}
	return s.names(ctx, "mark", s.db, members, first, s.say.tagged, set, tag, string(list))
}

func (s *Store) markOne(ctx context.Context, set, tag string, members []string, first []bool) error {
	n, err := s.affected(ctx, "mark", s.say.mark, set, members[0], tag)
	first[0] = n == 1
	if err != nil || n == 1 || tag == "" {
		return err
	}
	list, err := json.Marshal(members)
	if err != nil {
		return wrap("mark", err)
	}
	return s.names(ctx, "mark", s.db, members, first, s.say.tagged, set, tag, string(list))
}

// markReading: MySQL does not return what an INSERT has added, so the rows are
// found by their tag: the call has one of its own when the caller has none.
func (s *Store) markReading(ctx context.Context, set, tag string, members []string, list string, first []bool) error {
	own := tag
	if own == "" {
		own = once.NewOwner()
	}
	n, err := s.affected(ctx, "mark", s.say.markAll, set, own, list)
	all, none := n == int64(len(members)), n == 0 && tag == ""
	if err != nil || all || none {
		for i := range first {
			first[i] = err == nil && all
		}
		return err
	}
	tag = own
	return s.names(ctx, "mark", s.db, members, first, s.say.tagged, set, tag, list)
}

// Unmark implements once.MarkStore.
func (s *Store) Unmark(ctx context.Context, set string, members []string, was []bool) error {
	list, err := json.Marshal(members)
	if err != nil {
		return wrap("undo", err)
	}
	if s.dialect != MySQL {
		return s.names(ctx, "undo", s.db, members, was, s.say.unmark, set, string(list))
	}
	return s.retry(ctx, func() error { return s.unmarkReading(ctx, set, members, string(list), was) })
}

// unmarkReading: MySQL does not return what a DELETE has removed.
func (s *Store) unmarkReading(ctx context.Context, set string, members []string, list string, was []bool) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return wrap("undo", err)
	}
	defer func() { _ = tx.Rollback() }()
	clear(was) // of a try that failed
	if err := s.names(ctx, "undo", tx, members, was, s.say.marked, set, list); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, s.say.unmark, set, list); err != nil {
		return wrap("undo", err)
	}
	return wrap("undo", tx.Commit())
}

// Marked implements once.MarkStore.
func (s *Store) Marked(ctx context.Context, set string, members []string, is []bool) error {
	list, err := json.Marshal(members)
	if err != nil {
		return wrap("has", err)
	}
	return s.names(ctx, "has", s.db, members, is, s.say.has, set, string(list))
}

// Marks implements once.MarkStore. It counts rows: for millions, that takes a
// while.
func (s *Store) Marks(ctx context.Context, set string) (n int64, err error) {
	err = s.db.QueryRowContext(ctx, s.say.count, set).Scan(&n)
	return n, wrap("count", err)
}

// Clear implements once.MarkStore.
func (s *Store) Clear(ctx context.Context, set string) error {
	_, err := s.affected(ctx, "clear", s.say.clear, set)
	return err
}

// lister is a database or a transaction.
type lister interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// names runs a statement that returns members, and says of each of the members,
// which are in order, whether it is among them. What was true stays true. A try
// that fails says nothing: what it has returned may be undone, by its commit.
func (s *Store) names(ctx context.Context, what string, q lister, members []string, out []bool, statement string, args ...any) error {
	var found []int
	read := func() error {
		found = found[:0]
		rows, err := q.QueryContext(ctx, statement, args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var name string
			if err := rows.Scan(&name); err != nil {
				return err
			}
			if i, known := slices.BinarySearch(members, name); known {
				found = append(found, i)
			}
		}
		return rows.Err()
	}
	var err error
	if _, within := q.(*sql.Tx); within {
		err = read() // the whole transaction is tried again
	} else {
		err = s.retry(ctx, read)
	}
	if err != nil {
		return wrap(what, err)
	}
	for _, i := range found {
		out[i] = true
	}
	return nil
}
