package sql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"rushgate/id"
)

// Options tune a store.
type Options struct {
	// Name is the register: nodes that share one never share a number. 1 to 64
	// letters, digits, - and _; default "default".
	Name string

	// Grace is how long after now the first windows begin in a register that is
	// new; for a database that may have forgotten one, at least a lease.
	// Default 0; at most two hours.
	Grace time.Duration
}

// Store is an id.Store in an SQL database.
type Store struct {
	db      *sql.DB
	dialect Dialect
	say     statements
	opts    Options
}

var _ id.Store = (*Store)(nil)

// New returns a store on a database, which the caller keeps and closes. Nothing
// is asked of it yet.
func New(db *sql.DB, dialect Dialect, opts Options) (*Store, error) {
	if opts.Name == "" {
		opts.Name = "default"
	}
	if _, err := Schema(dialect); err != nil {
		return nil, err
	}
	switch {
	case db == nil:
		return nil, errors.New("id/sql: a store needs a database")
	case len(opts.Name) > 64 || strings.Trim(opts.Name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") != "":
		return nil, fmt.Errorf("id/sql: name %q: must be 1 to 64 letters, digits, - and _", opts.Name)
	case opts.Grace < 0 || opts.Grace > 2*time.Hour:
		return nil, fmt.Errorf("id/sql: grace %s: must be 0 to 2h", opts.Grace)
	}
	return &Store{db: db, dialect: dialect, say: dialect.statements(), opts: opts}, nil
}

// CreateTables makes the tables if they are not there.
func (s *Store) CreateTables(ctx context.Context) error {
	schema, err := Schema(s.dialect)
	if err != nil {
		return err
	}
	for statement := range strings.SplitSeq(schema, ";\n") {
		if strings.TrimSpace(statement) == "" {
			continue
		}
		if _, err = s.db.ExecContext(ctx, statement); err != nil {
			// Two who create a table at once collide in PostgreSQL's catalog,
			// in spite of IF NOT EXISTS; then it is there.
			_, err = s.db.ExecContext(ctx, statement)
		}
		if err != nil {
			return fmt.Errorf("id/sql: creating the tables: %w", err)
		}
	}
	return nil
}

// Acquire leases a number: see id.Store.
func (s *Store) Acquire(ctx context.Context, q id.Request) (l id.Lease, err error) {
	err = s.transact(ctx, true, func(t *turn) error {
		if err := t.read(ctx, s.say.all, s.opts.Name); err != nil {
			return err
		}
		isNew := t.register.Layout == ""
		if l, err = t.register.Acquire(t.nowMs, q, s.opts.Grace); err != nil {
			return err
		}
		if isNew {
			if err := t.exec(ctx, s.say.found, t.register.Layout, t.register.FloorMs, s.opts.Name); err != nil {
				return err
			}
		}
		return t.write(ctx, l.Number)
	})
	return l, err
}

// Renew extends a window: see id.Store.
func (s *Store) Renew(ctx context.Context, number int, q id.Request) (l id.Lease, err error) {
	err = s.transact(ctx, false, func(t *turn) error {
		if err := t.read(ctx, s.say.one, s.opts.Name, number); err != nil {
			return err
		}
		if l, err = t.register.Renew(t.nowMs, number, q); err != nil {
			return err
		}
		return t.write(ctx, number)
	})
	if errors.Is(err, errNoRegister) {
		err = id.Lost(number)
	}
	return l, err
}

// Release gives a number back: see id.Store.
func (s *Store) Release(ctx context.Context, number int, owner string, usedMs int64) error {
	err := s.transact(ctx, false, func(t *turn) error {
		if err := t.read(ctx, s.say.one, s.opts.Name, number); err != nil {
			return err
		}
		if !t.register.Release(number, owner, usedMs) {
			return nil
		}
		return t.write(ctx, number)
	})
	if errors.Is(err, errNoRegister) {
		err = nil
	}
	return err
}

// Distrust says that the database may have forgotten windows: it was restored
// from a backup, or a standby has taken over that lacked the last commits. The
// windows that are granted from now on begin a grace later, which must be at least
// the longest lease (TTL) of a node. The ids of nodes are ahead of the clock by as
// much, until it has caught up.
func (s *Store) Distrust(ctx context.Context, grace time.Duration) error {
	if grace < 0 || grace > 2*time.Hour {
		return fmt.Errorf("id/sql: grace %s: must be 0 to 2h", grace)
	}
	return s.transact(ctx, true, func(t *turn) error {
		t.register.Distrust(t.nowMs, grace)
		return t.exec(ctx, s.say.found, t.register.Layout, t.register.FloorMs, s.opts.Name)
	})
}
