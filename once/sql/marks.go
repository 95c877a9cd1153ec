package oncesql

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"slices"

	"rushgate/once"
)

// Mark implements once.MarkStore. Members with a tag go one by one: package once asks
// for one at a time.
func (s *Store) Mark(ctx context.Context, set, tag string, members []string, first []bool) (err error) {
	if len(members) == 1 || tag != "" {
		for i, member := range members {
			if first[i], err = s.markOne(ctx, set, tag, member); err != nil {
				return err
			}
		}
		return nil
	}
	list, err := json.Marshal(members)
	if err != nil {
		return wrap("mark", err)
	}
	if s.dialect == MySQL {
		return s.retry(ctx, func() error { return s.markReading(ctx, set, members, string(list), first) })
	}
	return s.names(ctx, "mark", s.db, members, first, s.say.markAll, set, tag, string(list))
}

// markOne adds a mark. If there is one, its tag decides; if that one is undone before
// it is read, nobody is first, and it is tried again.
func (s *Store) markOne(ctx context.Context, set, tag, member string) (bool, error) {
	for range mostTries {
		n, err := s.affected(ctx, "mark", s.say.mark, set, member, tag)
		if err != nil || n == 1 || tag == "" {
			return n == 1, err
		}
		var was string
		err = s.db.QueryRowContext(ctx, s.say.tag, set, member).Scan(&was)
		if !errors.Is(err, sql.ErrNoRows) {
			return was == tag, wrap("mark", err)
		}
	}
	return false, errors.New("once: mark: others set and undo it all the time")
}

// markReading: MySQL does not return what an INSERT has added, so the rows are
// found by a tag that this call alone has; in one transaction, or somebody could
// undo a mark before it is found, and nobody would be told that it was first.
func (s *Store) markReading(ctx context.Context, set string, members []string, list string, first []bool) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return wrap("mark", err)
	}
	defer func() { _ = tx.Rollback() }()
	own := once.NewOwner()
	r, err := tx.ExecContext(ctx, s.say.markAll, set, own, list)
	if err != nil {
		return wrap("mark", err)
	}
	n, err := r.RowsAffected()
	if err != nil {
		return wrap("mark", err)
	}
	all := n == int64(len(members))
	for i := range first {
		first[i] = all
	}
	if !all && n > 0 {
		if err := s.names(ctx, "mark", tx, members, first, s.say.tagged, set, own, list); err != nil {
			return err
		}
	}
	return wrap("mark", tx.Commit())
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
