package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"rushgate"
	"rushgate/ledger/entry"
)

var errNoRows = sql.ErrNoRows

// reader is what reads a row: the pool, a connection or a transaction.
type reader interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// read calls f with the pool of readers, after a doubt about a commit is settled.
func (l *Ledger) read(ctx context.Context, f func(r reader) error) error {
	return l.readFrom(ctx, &l.r, func(pool *sql.DB) error { return f(pool) })
}

// readShortly is read for what a desk must know before it goes on: one look
// through an index. Such reads have connections of their own, so that lists
// and audits of large sales, however many, never stop the selling.
func (l *Ledger) readShortly(ctx context.Context, f func(r reader) error) error {
	return l.readFrom(ctx, &l.short, func(pool *sql.DB) error { return f(pool) })
}

// readFrom calls f with a pool, which settle may replace before, but not while.
func (l *Ledger) readFrom(ctx context.Context, pool **sql.DB, f func(*sql.DB) error) error {
	if err := l.certain(ctx); err != nil {
		return err
	}
	if err := l.here.check(l.dir); err != nil {
		return err
	}
	l.reads.RLock()
	defer l.reads.RUnlock()
	if *pool == nil {
		return errClosed
	}
	return f(*pool)
}

// readAtOnce is read in a transaction: everything that f reads is of one moment.
func (l *Ledger) readAtOnce(ctx context.Context, f func(r reader) error) error {
	return l.readFrom(ctx, &l.r, func(pool *sql.DB) error {
		tx, err := pool.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		return errors.Join(f(tx), ended(tx.Rollback()))
	})
}

// ended takes from a Rollback's error that the context had ended the
// transaction already.
func ended(err error) error {
	if errors.Is(err, sql.ErrTxDone) {
		return nil
	}
	return err
}

// certain settles a doubt, if there is one.
func (l *Ledger) certain(ctx context.Context) error {
	if !l.inDoubt.Load() {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ready(ctx)
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
	err := l.readAtOnce(ctx, func(r reader) error {
		rows, err := r.QueryContext(ctx, `SELECT `+saleColumns+` FROM sales ORDER BY position`)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			s, err := scanSale(rows)
			if err != nil {
				return err
			}
			list = append(list, s)
		}
		if err := rows.Err(); err != nil {
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

// Sale implements [rushgate.Ledger].
func (l *Ledger) Sale(ctx context.Context, id string) (s *rushgate.Sale, err error) {
	err = l.readShortly(ctx, func(r reader) error {
		s, err = saleOf(ctx, r, id)
		return err
	})
	if err != nil {
		return nil, wrap("read sale "+id, err)
	}
	return s, nil
}

// Marks implements [rushgate.Ledger].
func (l *Ledger) Marks(ctx context.Context) (map[string]rushgate.Mark, error) {
	marks := map[string]rushgate.Mark{}
	err := l.readShortly(ctx, func(r reader) error {
		rows, err := r.QueryContext(ctx, `SELECT id, epoch, version, last_seq FROM sales`)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var id string
			var m rushgate.Mark
			if err := rows.Scan(&id, &m.Epoch, &m.Version, &m.Seq); err != nil {
				return err
			}
			marks[id] = m
		}
		return rows.Err()
	})
	return marks, wrap("look at the sales", err)
}

// Stock implements [rushgate.Ledger]. A sale that is not there is an
// *rushgate.Error with NotFound.
func (l *Ledger) Stock(ctx context.Context, sale string) ([]rushgate.Stock, error) {
	var list []rushgate.Stock
	err := l.readShortly(ctx, func(r reader) (err error) {
		list, err = stockOf(ctx, r, sale)
		return err
	})
	if err == nil && len(list) == 0 { // every sale has items
		err = missingSale(sale, errNoRows)
	}
	return list, wrap("read the stock of sale "+sale, err)
}

// LastID implements [rushgate.Ledger].
func (l *Ledger) LastID(ctx context.Context) (rushgate.ID, error) {
	var id rushgate.ID
	err := l.read(ctx, func(r reader) error {
		return r.QueryRowContext(ctx, `SELECT max(coalesce((SELECT max(id) FROM claims), 0), coalesce((SELECT max(id) FROM batches), 0))`).Scan(&id)
	})
	return id, wrap("read the last id", err)
}
