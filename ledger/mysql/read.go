package mysql

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"time"

	"rushgate"
	"rushgate/ledger/entry"
)

var errNoRows = sql.ErrNoRows

// reader is what reads a row: a pool, a connection or a transaction.
//
// Short reads go through the pool of that name: what a desk must know before it
// goes on, one look through an index. So lists and audits of large sales, however
// many, never stop the selling.
type reader interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// readAtOnce calls f with a reader to which everything is of one moment.
func (l *Ledger) readAtOnce(ctx context.Context, f func(r reader) error) error {
	conn, err := l.r.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	_, err = conn.ExecContext(ctx, `SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY`)
	if err != nil {
		return err
	}
	err = f(conn)
	if _, end := conn.ExecContext(context.WithoutCancel(ctx), `ROLLBACK`); end != nil {
		_ = conn.Raw(func(any) error { return driver.ErrBadConn }) // ctx may have ended the connection; what was read is whole
	}
	return err
}

const saleColumns = `id, name, opens_at, closes_at, per_user, hold_ms, ack, frozen, ended, epoch, version, shards, created_at`

type scanner interface{ Scan(...any) error }

func scanSale(row scanner) (rushgate.Sale, error) {
	var s rushgate.Sale
	var opens, closes, created sql.NullInt64
	var hold int64
	err := row.Scan(&s.ID, &s.Name, &opens, &closes, &s.PerUser, &hold, &s.Ack, &s.Frozen, &s.Ended, &s.Epoch, &s.Version, &s.Shards, &created)
	s.OpensAt, s.ClosesAt, s.CreatedAt = entry.Moment(opens), entry.Moment(closes), entry.Moment(created)
	s.Hold = time.Duration(hold) * time.Millisecond
	return s, err
}

func missingSale(id string, err error) error {
	if errors.Is(err, errNoRows) {
		return &rushgate.Error{Code: rushgate.NotFound, Message: fmt.Sprintf("there is no sale %q", id)}
	}
	return err
}

// saleOf reads a sale with its items.
func saleOf(ctx context.Context, r reader, id string) (*rushgate.Sale, error) {
	s, err := scanSale(r.QueryRowContext(ctx, `SELECT `+saleColumns+` FROM sales WHERE id = ?`, id))
	if err != nil {
		return nil, missingSale(id, err)
	}
	s.Items, err = itemsOf(ctx, r, id)
	return &s, err
}

func itemsOf(ctx context.Context, r reader, sale string) ([]rushgate.Item, error) {
	rows, err := r.QueryContext(ctx,
		`SELECT item, name, total FROM items WHERE sale = ? AND round = 1 ORDER BY position`, sale)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var items []rushgate.Item
	for rows.Next() {
		var it rushgate.Item
		if err := rows.Scan(&it.ID, &it.Name, &it.Stock); err != nil {
			return nil, err
		}
		items = append(items, it)
	}
	return items, rows.Err()
}

func stockOf(ctx context.Context, r reader, sale string) ([]rushgate.Stock, error) {
	rows, err := r.QueryContext(ctx,
		`SELECT item, total, taken, confirmed FROM items WHERE sale = ? AND round = 1 ORDER BY position`, sale)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var list []rushgate.Stock
	for rows.Next() {
		var s rushgate.Stock
		if err := rows.Scan(&s.Item, &s.Total, &s.Taken, &s.Confirmed); err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	return list, rows.Err()
}

// Sales implements [rushgate.Ledger].
func (l *Ledger) Sales(ctx context.Context) ([]rushgate.Sale, error) {
	var list []rushgate.Sale
	err := l.readAtOnce(ctx, func(r reader) (err error) {
		if list, err = salesOf(ctx, r); err != nil {
			return err
		}
		for i := range list {
			if list[i].Items, err = itemsOf(ctx, r, list[i].ID); err != nil {
				return err
			}
		}
		return nil
	})
	return list, wrap("list the sales", err)
}

// salesOf reads all sales without their items.
func salesOf(ctx context.Context, r reader) ([]rushgate.Sale, error) {
	rows, err := r.QueryContext(ctx, `SELECT `+saleColumns+` FROM sales ORDER BY position`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var list []rushgate.Sale
	for rows.Next() {
		s, err := scanSale(rows)
		if err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	return list, rows.Err()
}

// Sale implements [rushgate.Ledger].
func (l *Ledger) Sale(ctx context.Context, id string) (*rushgate.Sale, error) {
	s, err := saleOf(ctx, l.short, id)
	if err != nil {
		return nil, wrap("read sale "+id, err)
	}
	return s, nil
}

// Marks implements [rushgate.Ledger].
func (l *Ledger) Marks(ctx context.Context) (map[string]rushgate.Mark, error) {
	marks, err := marksOf(ctx, l.short)
	return marks, wrap("look at the sales", err)
}

func marksOf(ctx context.Context, r reader) (map[string]rushgate.Mark, error) {
	rows, err := r.QueryContext(ctx, `SELECT id, epoch, version, last_seq FROM sales`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	list := map[string]rushgate.Mark{}
	for rows.Next() {
		var id string
		var m rushgate.Mark
		if err := rows.Scan(&id, &m.Epoch, &m.Version, &m.Seq); err != nil {
			return nil, err
		}
		list[id] = m
	}
	return list, rows.Err()
}

// Stock implements [rushgate.Ledger]. A sale that is not there is an
// *rushgate.Error with NotFound.
func (l *Ledger) Stock(ctx context.Context, sale string) ([]rushgate.Stock, error) {
	list, err := stockOf(ctx, l.short, sale)
	if err == nil && len(list) == 0 { // every sale has items
		err = missingSale(sale, errNoRows)
	}
	return list, wrap("read the stock of sale "+sale, err)
}

// LastID implements [rushgate.Ledger].
func (l *Ledger) LastID(ctx context.Context) (rushgate.ID, error) {
	var id rushgate.ID
	err := l.r.QueryRowContext(ctx,
		`SELECT GREATEST(COALESCE((SELECT MAX(id) FROM claims), 0), COALESCE((SELECT MAX(id) FROM batches), 0))`).Scan(&id)
	return id, wrap("read the last id", err)
}
