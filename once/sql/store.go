package oncesql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"time"
)

// Options tune a store. The zero value is right for most.
type Options struct {
	// Prefix begins the names of the tables. Default "once_"; small letters,
	// digits and _ only, at most 32 of them.
	Prefix string

	// Transient says that an error is one that trying again may mend: a deadlock,
	// a serialization failure, a busy database. Default: what pgx, lib/pq,
	// go-sql-driver/mysql and modernc.org/sqlite report as such.
	Transient func(error) bool
}

var goodPrefix = regexp.MustCompile(`^[a-z0-9_]{1,32}$`)

// Store keeps records, marks and toggles in a database. It implements
// once.Store, once.MarkStore and once.ToggleStore, and is safe for use by many
// goroutines. There is nothing to close.
type Store struct {
	db      *sql.DB
	dialect Dialect
	opts    Options
	say     statements
}

// New returns a store in a database, which stays the caller's. The tables must be
// there: see CreateTables and Schema.
func New(db *sql.DB, d Dialect, o Options) (*Store, error) {
	if db == nil {
		return nil, errors.New("once: the database is missing")
	}
	if d < Postgres || d > SQLite {
		return nil, fmt.Errorf("once: dialect %d: must be Postgres, MySQL or SQLite", d)
	}
	if o.Prefix == "" {
		o.Prefix = "once_"
	}
	if !goodPrefix.MatchString(o.Prefix) {
		return nil, fmt.Errorf("once: Options.Prefix %q: must be 1 to 32 small letters, digits and _", o.Prefix)
	}
	if o.Transient == nil {
		o.Transient = transient
	}
	return &Store{db: db, dialect: d, opts: o, say: d.statements(o.Prefix)}, nil
}

// Schema returns the statements that make the tables, for those who have
// migrations of their own; in each, what is there already is left alone.
func (s *Store) Schema() []string {
	var lines []string
	for line := range strings.Lines(strings.ReplaceAll(s.dialect.pieces().schema, "PREFIX", s.opts.Prefix)) {
		line, _, _ = strings.Cut(line, "--")
		lines = append(lines, strings.TrimRight(line, " \n"))
	}
	var all []string
	for _, statement := range strings.Split(strings.Join(lines, "\n"), ";") {
		if statement = strings.TrimSpace(statement); statement != "" {
			all = append(all, statement)
		}
	}
	return all
}

// oneByOne lets nobody else make tables until the end of the transaction: in
// PostgreSQL, IF NOT EXISTS fails when two do it at the same time. (The number is
// "once" in ASCII.)
const oneByOne = `SELECT pg_advisory_xact_lock(1869505381)`

// CreateTables makes the tables that are not there. Any number of programs may
// call it at the same time.
func (s *Store) CreateTables(ctx context.Context) error {
	if s.dialect != Postgres {
		return wrap("create tables", execute(ctx, s.db, s.Schema()))
	}
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return wrap("create tables", err)
	}
	defer func() { _ = tx.Rollback() }() // after a commit, it does nothing
	if err := execute(ctx, tx, append([]string{oneByOne}, s.Schema()...)); err != nil {
		return wrap("create tables", err)
	}
	return wrap("create tables", tx.Commit())
}

func execute(ctx context.Context, q querier, statements []string) error {
	for _, statement := range statements {
		if _, err := q.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// Sweep deletes up to limit records that have expired, and returns how many there
// were: results that are no longer kept, and attempts nobody heard of for an hour.
// Expired records count for nothing, but they take room: call it now and then.
func (s *Store) Sweep(ctx context.Context, limit int) (int64, error) {
	if limit < 1 {
		return 0, fmt.Errorf("once: sweep: the limit is %d; it must be positive", limit)
	}
	var n int64
	err := s.retry(ctx, func() error {
		r, err := s.db.ExecContext(ctx, s.say.sweep, limit)
		if err == nil {
			n, err = r.RowsAffected()
		}
		return err
	})
	return n, wrap("sweep", err)
}

// mostTries bounds how often a statement or a transaction that lost a race is
// tried.
const mostTries = 10

// retry does something again that failed for a passing reason.
func (s *Store) retry(ctx context.Context, do func() error) error {
	for try := 1; ; try++ {
		err := do()
		if err == nil || try == mostTries || !errors.Is(err, errSwept) && !s.opts.Transient(err) {
			return err
		}
		t := time.NewTimer(rand.N(time.Duration(try) * 10 * time.Millisecond))
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return err
		}
	}
}

// affected runs a statement and returns how many rows it changed.
func (s *Store) affected(ctx context.Context, what, statement string, args ...any) (n int64, err error) {
	err = s.retry(ctx, func() error {
		r, err := s.db.ExecContext(ctx, statement, args...)
		if err == nil {
			n, err = r.RowsAffected()
		}
		return err
	})
	return n, wrap(what, err)
}

func wrap(what string, err error) error {
	if err != nil {
		return fmt.Errorf("once: %s: %w", what, err)
	}
	return nil
}

// transient knows passing errors without knowing the drivers: PostgreSQL's by
// SQLSTATE (40001 serialization_failure, 40P01 deadlock_detected), SQLite's by its
// result code (5 SQLITE_BUSY, 6 SQLITE_LOCKED), MySQL's by number, which its driver
// has in the text alone (1205 lock wait timeout, 1213 deadlock).
func transient(err error) bool {
	var state interface{ SQLState() string }
	if errors.As(err, &state) {
		return state.SQLState() == "40001" || state.SQLState() == "40P01"
	}
	var code interface{ Code() int }
	if errors.As(err, &code) {
		primary := code.Code() & 0xff
		return primary == 5 || primary == 6
	}
	text := err.Error()
	return strings.Contains(text, "Error 1213 ") || strings.Contains(text, "Error 1205 ") || strings.Contains(text, "Error 1020 ")
}

// held says that a write came to nothing because a transaction has what it would change:
// PostgreSQL's lock_not_available; MySQL's and MariaDB's word for NOWAIT; and with
// SQLite, where reading needs no lock, that time ran out while it waited.
func (s *Store) held(ctx context.Context, err error) bool {
	if err == nil {
		return false
	}
	switch s.dialect {
	case Postgres:
		var state interface{ SQLState() string }
		return errors.As(err, &state) && state.SQLState() == "55P03"
	case MySQL:
		text := err.Error()
		return strings.Contains(text, "Error 3572 ") || strings.Contains(text, "Error 1205 ")
	}
	return transient(err) || ctx.Err() == context.DeadlineExceeded
}
