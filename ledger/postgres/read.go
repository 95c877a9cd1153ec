package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"rushgate"
)

// read calls f with the pool of readers.
func (l *Ledger) read(ctx context.Context, f func(context.Context, querier) error) error {
	return readFrom(ctx, l.r, func() error { return f(ctx, l.r) })
}

// readShortly is read for what a desk must know before it goes on: one look
// through an index, within Patience. Such reads have connections of their own,
// so that lists and audits of large sales, however many, never stop the selling.
func (l *Ledger) readShortly(ctx context.Context, f func(context.Context, querier) error) error {
	ctx, cancel := context.WithTimeout(ctx, l.opts.Patience)
	defer cancel()
	return readFrom(ctx, l.short, func() error { return f(ctx, l.short) })
}

// readAtOnce is read in a transaction: everything that f reads is of one moment.
func (l *Ledger) readAtOnce(ctx context.Context, f func(context.Context, querier) error) error {
	begun := false
	return readFrom(ctx, l.r, func() error {
		if begun {
			return errBegun
		}
		how := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
		return pgx.BeginTxFunc(ctx, l.r, how, func(tx pgx.Tx) error {
			begun = true
			return f(ctx, tx)
		})
	})
}

// readFrom carries out a read of a pool. When the server has gone away since the
// connections were made, they are replaced, and the read is tried once more.
func readFrom(ctx context.Context, pool *pgxpool.Pool, read func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	err := read()
	if !stale(err) {
		return err
	}
	pool.Reset()
	if once := read(); once != errBegun {
		err = once
	}
	return err
}

// errBegun says that a read which has begun is not begun again: somebody has
// been told a part of it.
var errBegun = errors.New("begun already")

const (
	saleColumns = `id, name, opens_at, closes_at, per_user, hold_ms, ack, frozen, ended, epoch, version, shards, created_at`

	sqlSale  = `SELECT ` + saleColumns + ` FROM sales WHERE id = $1`
	sqlItems = `SELECT item, name, total FROM items WHERE sale = $1 AND round = 1 ORDER BY position`
)

func scanSale(row pgx.CollectableRow) (rushgate.Sale, error) {
	var s rushgate.Sale
	var opens, closes, created pgtype.Int8
	var hold int64
	err := row.Scan(&s.ID, &s.Name, &opens, &closes, &s.PerUser, &hold, (*string)(&s.Ack), &s.Frozen, &s.Ended, &s.Epoch, &s.Version, &s.Shards, &created)
	s.OpensAt, s.ClosesAt, s.CreatedAt = moment(opens), moment(closes), moment(created)
	s.Hold = time.Duration(hold) * time.Millisecond
	return s, err
}

func scanItem(row pgx.CollectableRow) (it rushgate.Item, err error) {
	err = row.Scan(&it.ID, &it.Name, &it.Stock)
	return it, err
}

// moment reads a moment that may be absent.
func moment(ms pgtype.Int8) time.Time {
	if !ms.Valid {
		return time.Time{}
	}
	return time.UnixMilli(ms.Int64).UTC()
}

func missingSale(id string, err error) error {
	if isNoRows(err) {
		return &rushgate.Error{Code: rushgate.NotFound, Message: fmt.Sprintf("there is no sale %q", id)}
	}
	return err
}

// list reads all rows of a query. There are none is nil.
func list[T any](ctx context.Context, q querier, scan pgx.RowToFunc[T], sql string, args ...any) ([]T, error) {
	rows, err := q.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	return pgx.AppendRows([]T(nil), rows, scan)
}

// one reads the only row of a query.
func one[T any](ctx context.Context, q querier, scan pgx.RowToFunc[T], sql string, args ...any) (v T, err error) {
	rows, err := q.Query(ctx, sql, args...)
	if err != nil {
		return v, err
	}
	return pgx.CollectExactlyOneRow(rows, scan)
}

// saleOf reads a sale with its items.
func saleOf(ctx context.Context, q querier, id string) (*rushgate.Sale, error) {
	s, err := one(ctx, q, scanSale, sqlSale, id)
	if err != nil {
		return nil, missingSale(id, err)
	}
	s.Items, err = list(ctx, q, scanItem, sqlItems, id)
	return &s, err
}

func stockOf(ctx context.Context, q querier, sale string) ([]rushgate.Stock, error) {
	return list(ctx, q, func(row pgx.CollectableRow) (s rushgate.Stock, err error) {
		err = row.Scan(&s.Item, &s.Total, &s.Taken, &s.Confirmed)
		return s, err
	}, `SELECT item, total, taken, confirmed FROM items WHERE sale = $1 AND round = 1 ORDER BY position`, sale)
}

// Sales implements [rushgate.Ledger].
func (l *Ledger) Sales(ctx context.Context) ([]rushgate.Sale, error) {
	var all []rushgate.Sale
	err := l.readAtOnce(ctx, func(ctx context.Context, q querier) (err error) {
		if all, err = list(ctx, q, scanSale, `SELECT `+saleColumns+` FROM sales ORDER BY position`); err != nil {
			return err
		}
		for i := range all {
			if all[i].Items, err = list(ctx, q, scanItem, sqlItems, all[i].ID); err != nil {
				return err
			}
		}
		return nil
	})
	return all, l.wrap("list the sales", err)
}

// Sale implements [rushgate.Ledger].
func (l *Ledger) Sale(ctx context.Context, id string) (s *rushgate.Sale, err error) {
	err = l.readShortly(ctx, func(ctx context.Context, q querier) error {
		s, err = saleOf(ctx, q, id)
		return err
	})
	if err != nil {
		return nil, l.wrap("read sale "+id, err)
	}
	return s, nil
}

// Marks implements [rushgate.Ledger].
func (l *Ledger) Marks(ctx context.Context) (map[string]rushgate.Mark, error) {
	marks := map[string]rushgate.Mark{}
	err := l.readShortly(ctx, func(ctx context.Context, q querier) error {
		rows, err := q.Query(ctx, `SELECT id, epoch, version, last_seq FROM sales`)
		if err != nil {
			return err
		}
		var id string
		var m rushgate.Mark
		_, err = pgx.ForEachRow(rows, []any{&id, &m.Epoch, &m.Version, &m.Seq}, func() error {
			marks[id] = m
			return nil
		})
		return err
	})
	return marks, l.wrap("look at the sales", err)
}

// Stock implements [rushgate.Ledger]. A sale that is not there is an
// *rushgate.Error with NotFound.
func (l *Ledger) Stock(ctx context.Context, sale string) (stock []rushgate.Stock, err error) {
	err = l.readShortly(ctx, func(ctx context.Context, q querier) error {
		stock, err = stockOf(ctx, q, sale)
		return err
	})
	if err == nil && len(stock) == 0 { // every sale has items
		err = missingSale(sale, pgx.ErrNoRows)
	}
	return stock, l.wrap("read the stock of sale "+sale, err)
}

// LastID implements [rushgate.Ledger].
func (l *Ledger) LastID(ctx context.Context) (id rushgate.ID, err error) {
	err = l.read(ctx, func(ctx context.Context, q querier) error {
		return q.QueryRow(ctx, `SELECT greatest((SELECT max(id) FROM claims), (SELECT max(id) FROM batches), 0)`).Scan((*int64)(&id))
	})
	return id, l.wrap("read the last id", err)
}
