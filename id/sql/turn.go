package sql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"rushgate/id"
)

// turn is one transaction that has the register to itself.
type turn struct {
	store    *Store
	tx       *sql.Tx
	register id.Register // as far as it has been read
	nowMs    int64       // the database's clock, after the lock
}

var errNoRegister = errors.New("id/sql: there is no such register")

// transact lets do have the register to itself, and commits what it has written
// unless it returns an error. A register that is not there is made first, if that
// is wanted.
func (s *Store) transact(ctx context.Context, create bool, do func(*turn) error) error {
	err := s.attempt(ctx, do)
	if !create || !errors.Is(err, errNoRegister) {
		return err
	}
	// A transaction of its own: several who want to make it wait for each other
	// here, where they hold nothing else.
	if _, err := s.db.ExecContext(ctx, s.say.register, s.opts.Name); err != nil {
		return fmt.Errorf("id/sql: %w", err)
	}
	return s.attempt(ctx, do)
}

func (s *Store) attempt(ctx context.Context, do func(*turn) error) error {
	tx, err := s.db.BeginTx(ctx, &sql.TxOptions{Isolation: s.say.isolation})
	if err != nil {
		return fmt.Errorf("id/sql: %w", err)
	}
	defer tx.Rollback() // what was committed stays
	t := &turn{store: s, tx: tx}
	if err := t.begin(ctx); err != nil {
		return err
	}
	if err := do(t); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("id/sql: %w", err)
	}
	return nil
}

// begin locks the register and looks at the clock, in this order.
func (t *turn) begin(ctx context.Context) error {
	r, err := t.tx.ExecContext(ctx, t.store.say.lock, t.store.opts.Name)
	if err != nil {
		return fmt.Errorf("id/sql: %w", err)
	}
	if n, err := r.RowsAffected(); err != nil || n == 0 {
		return errors.Join(errNoRegister, err)
	}
	t.register.Numbers = map[int]id.Record{}
	err = t.tx.QueryRowContext(ctx, t.store.say.look, t.store.opts.Name).Scan(&t.nowMs, &t.register.Layout, &t.register.FloorMs)
	if err != nil {
		return fmt.Errorf("id/sql: %w", err)
	}
	return nil
}

// read reads numbers into the register.
func (t *turn) read(ctx context.Context, query string, args ...any) error {
	rows, err := t.tx.QueryContext(ctx, query, args...)
	if err != nil {
		return fmt.Errorf("id/sql: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var n int
		var rec id.Record
		if err := rows.Scan(&n, &rec.Owner, &rec.FromMs, &rec.UntilMs); err != nil {
			return fmt.Errorf("id/sql: %w", err)
		}
		t.register.Numbers[n] = rec
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("id/sql: %w", err)
	}
	return nil
}

// write writes one number back.
func (t *turn) write(ctx context.Context, number int) error {
	rec := t.register.Numbers[number]
	return t.exec(ctx, t.store.say.write, t.store.opts.Name, number, rec.Owner, rec.FromMs, rec.UntilMs)
}

func (t *turn) exec(ctx context.Context, statement string, args ...any) error {
	if _, err := t.tx.ExecContext(ctx, statement, args...); err != nil {
		return fmt.Errorf("id/sql: %w", err)
	}
	return nil
}
