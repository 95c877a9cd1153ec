package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// pipe collects statements that travel to the server together: one round trip
// for all of them. What became of each is told in their order, to the function
// that was queued with it; the first error ends it.
type pipe struct {
	conn  *pgx.Conn
	queue pgx.Batch
}

// exec queues a statement whose outcome is the number of its rows.
func (p *pipe) exec(then func(rows int64, err error) error, sql string, args ...any) {
	p.queue.Queue(sql, args...).Fn = func(r pgx.BatchResults) error {
		tag, err := r.Exec()
		return then(tag.RowsAffected(), err)
	}
}

// query queues a statement that returns rows: then reads them, and is told the
// statement's error when there are none.
func (p *pipe) query(then func(rows pgx.Rows) error, sql string, args ...any) {
	p.queue.Queue(sql, args...).Fn = func(r pgx.BatchResults) error {
		rows, _ := r.Query() // its error is in rows
		defer rows.Close()
		return then(rows)
	}
}

// flush sends what was queued, and waits for what became of it.
func (p *pipe) flush(ctx context.Context) error {
	if len(p.queue.QueuedQueries) == 0 {
		return nil
	}
	queue := p.queue
	p.queue = pgx.Batch{}
	return p.conn.SendBatch(ctx, &queue).Close()
}

// simply passes an error on.
func simply(_ int64, err error) error { return err }

// querier is what reads rows: a pool, a connection or a transaction.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}
