package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"

	"rushgate"
)

// Recorded implements [rushgate.Ledger].
//
// Looking for the batch would not do: its COMMIT may still be on its way, and
// the server does it after the look. So Recorded tries to write the batch's row
// itself. While a transaction is open that has written it, the server makes it
// wait for that one's end, which the server brings about within 3 seconds if
// nobody else does. Either the row is there then, or the batch can never come.
//
// It says true when a commit behind the batch's has come through as well: on a
// server with a synchronous standby, when that has both.
func (l *Ledger) Recorded(ctx context.Context, b *rushgate.Batch) (bool, error) {
	recorded, err := l.settle(ctx, b.ID)
	return recorded, l.wrap("look for a batch", err)
}

func (l *Ledger) settle(ctx context.Context, batch int64) (recorded bool, err error) {
	if l.w == nil { // nothing of this program is on its way
		err = l.readShortly(ctx, func(ctx context.Context, q querier) error {
			return q.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM batches WHERE id = $1)`, batch).Scan(&recorded)
		})
		return recorded, err
	}
	ctx, cancel := context.WithTimeout(ctx, l.opts.doubt())
	defer cancel()
	err = readFrom(ctx, l.short, func() error {
		recorded, err = l.tryRow(ctx, batch)
		return err
	})
	return recorded, err
}

// tryRow tries to write a batch's row, and takes it back.
func (l *Ledger) tryRow(ctx context.Context, batch int64) (recorded bool, err error) {
	conn, err := l.short.Acquire(ctx)
	if err != nil {
		return false, err
	}
	defer conn.Release()
	p := &pipe{conn: conn.Conn()}
	p.exec(simply, `BEGIN ISOLATION LEVEL READ COMMITTED`)
	p.exec(simply, fmt.Sprintf(`SET LOCAL lock_timeout = %d`, l.opts.doubt().Milliseconds()))
	p.exec(func(rows int64, err error) error {
		recorded = rows == 0
		return err
	}, `INSERT INTO batches (id, at) VALUES ($1, 0) ON CONFLICT (id) DO NOTHING`, batch)
	if err = p.flush(ctx); err == nil && recorded {
		err = l.vouch(ctx, conn, batch)
		return err == nil, err
	}
	l.rollback(ctx, l.short, conn, err)
	return false, err
}

// vouch makes sure that a batch whose row is there will not go away. It can be
// seen although the server's synchronous standby lacks it, if somebody has
// cancelled the wait for that, or the server was started again. A commit of our
// own behind it, which changes nothing, waits for the standby in its place: the
// log is one, and in order.
func (l *Ledger) vouch(ctx context.Context, conn *pgxpool.Conn, batch int64) error {
	p := &pipe{conn: conn.Conn()}
	p.exec(func(rows int64, err error) error {
		if err == nil && rows != 1 {
			err = errors.New("the row of the batch is there no more")
		}
		return err
	}, `UPDATE batches SET at = at WHERE id = $1`, batch)
	err := p.flush(ctx)
	if err != nil {
		l.rollback(ctx, l.short, conn, err)
		return err
	}
	if err = commitCleanly(ctx, conn.Conn()); err != nil {
		l.drop(ctx, l.short, conn, err)
		return fmt.Errorf("the batch is there, but no commit behind it comes through: look whether a standby of synchronous_standby_names is away: %w", err)
	}
	return nil
}
