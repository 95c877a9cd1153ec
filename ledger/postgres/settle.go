package postgres

import (
	"context"
	"fmt"

	"rushgate"
)

// Recorded implements [rushgate.Ledger].
//
// Looking for the batch would not do: its COMMIT may still be on its way, and
// the server does it after the look. So Recorded tries to write the batch's row
// itself. While a transaction is open that has written it, the server makes it
// wait for that one's end, which the server brings about within 3 seconds if
// nobody else does. Either the row is there then, or the batch can never come.
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
	p.exec(simply, `ROLLBACK`)
	if err := p.flush(ctx); err != nil {
		l.rollback(ctx, l.short, conn, err)
		return false, err
	}
	return recorded, nil
}
