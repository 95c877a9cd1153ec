package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"rushgate"
)

// attempts bounds how often a transaction is tried that the server ended to
// resolve a deadlock.
const attempts = 6

// write carries out one transaction. It is tried again when the server ended it
// to resolve a deadlock, and once when its connection broke before the COMMIT,
// as all do when the server was restarted. An error that is not ErrUnknown means
// that nothing of it was kept.
func (l *Ledger) write(ctx context.Context, under *guard, around func(func() error) error, do func(context.Context, *tx) error) (err error) {
	if l.w == nil {
		return errReadOnly
	}
	broken := false
	for range attempts {
		if err := ctx.Err(); err != nil {
			return err
		}
		err = l.attempt(ctx, under, around, do)
		switch {
		case errors.Is(err, rushgate.ErrUnknown):
			return err
		case stale(err) && !broken:
			broken = true
		case !again(err):
			return err
		}
	}
	return err
}

// attempt is one try. ctx is heeded until there is a connection: a transaction
// that has begun is brought to its end, so that a caller who goes away does not
// turn a known outcome into an unknown one.
func (l *Ledger) attempt(ctx context.Context, under *guard, around func(func() error) error, do func(context.Context, *tx) error) error {
	waiting, cancel := context.WithTimeout(ctx, l.opts.whole())
	defer cancel()
	conn, err := l.w.Acquire(waiting)
	if err != nil {
		return err
	}
	defer conn.Release()
	ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), l.opts.whole())
	defer cancel()
	t := &tx{pipe: pipe{conn: conn.Conn()}, sales: map[string]*standing{}}
	t.exec(simply, `BEGIN ISOLATION LEVEL READ COMMITTED`)
	if under != nil {
		t.keep(under)
	}
	err = do(ctx, t)
	if flushed := t.flush(ctx); flushed != nil {
		err = flushed // of a statement before the one that could not be queued
	}
	if err != nil {
		l.rollback(ctx, l.w, conn, err)
		return err
	}
	return l.commit(ctx, conn, around)
}

// commit ends a transaction that must be kept.
func (l *Ledger) commit(ctx context.Context, conn *pgxpool.Conn, around func(func() error) error) error {
	err := around(func() error { return commitCleanly(ctx, conn.Conn()) })
	switch {
	case err == nil:
		return nil
	case definite(err):
		l.rollback(ctx, l.w, conn, err)
		return err
	}
	// The server may still be at it: Recorded waits for it. This connection is
	// not used again, whatever comes out of it.
	l.drop(ctx, l.w, conn, err)
	return fmt.Errorf("%w: %w", rushgate.ErrUnknown, err)
}

// rollback ends a transaction that must not be kept. When that cannot be done
// cleanly, closing the connection does it.
func (l *Ledger) rollback(ctx context.Context, pool *pgxpool.Pool, conn *pgxpool.Conn, why error) {
	if stale(why) {
		l.drop(ctx, pool, conn, why)
		return
	}
	if !conn.Conn().IsClosed() {
		if _, err := conn.Exec(ctx, `ROLLBACK`); err != nil {
			l.drop(ctx, pool, conn, err)
		}
	}
}

// drop closes a connection. If what went wrong has befallen the others too, they
// are replaced before they are used again.
func (l *Ledger) drop(ctx context.Context, pool *pgxpool.Pool, conn *pgxpool.Conn, why error) {
	_ = conn.Conn().Close(ctx) // it is broken, or in doubt: an error tells nothing new
	if stale(why) {
		pool.Reset()
	}
}

// tx is a transaction that writes.
type tx struct {
	pipe
	sales map[string]*standing // those that are locked, and are there
}

// standing is what the row of a sale says of it, as the steps so far have left it.
type standing struct {
	epoch, version int64
}

// lock takes the rows of all sales that the batch touches, in the order of their
// ids: whoever has them has the right to touch stock, claims and events.
func (t *tx) lock(sales []string) {
	if len(sales) == 0 {
		return
	}
	t.query(func(rows pgx.Rows) error {
		var id string
		var s standing
		_, err := pgx.ForEachRow(rows, []any{&id, &s.epoch, &s.version}, func() error {
			t.sales[id] = &standing{s.epoch, s.version}
			return nil
		})
		return err
	}, `SELECT id, epoch, version FROM sales WHERE id = ANY($1) ORDER BY id FOR NO KEY UPDATE`, sales)
}

func isNoRows(err error) bool { return errors.Is(err, pgx.ErrNoRows) }
