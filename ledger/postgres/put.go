package postgres

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"

	"rushgate"
	"rushgate/ledger/entry"
)

const (
	sqlSaleNew = `INSERT INTO sales (id, name, opens_at, closes_at, per_user, hold_ms, ack, frozen, ended, epoch, version, shards, created_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`
	sqlItemsNew = `INSERT INTO items (sale, round, item, position, name, total)
		SELECT $1, 1, i.item, i.position, i.name, i.total
		FROM unnest($2::text[], $3::text[], $4::bigint[]) WITH ORDINALITY AS i(item, name, total, position)`
	sqlSaleSet = `UPDATE sales SET name = $2, opens_at = $3, closes_at = $4, per_user = $5, hold_ms = $6,
		ack = $7, frozen = $8, ended = $9, version = $10
		WHERE id = $1 AND $11 IN (0::bigint, version) AND $12 IN (0::bigint, epoch) RETURNING ` + saleColumns
	sqlRestock = `WITH done AS (
			UPDATE items SET total = total + $3
			WHERE sale = $1 AND round = 1 AND item = $2 AND total + $3 BETWEEN taken AND $4 RETURNING 1
		)
		SELECT EXISTS (SELECT 1 FROM done), EXISTS (SELECT 1 FROM items WHERE sale = $1 AND round = 1 AND item = $2)`
	sqlFence = `UPDATE sales SET epoch = epoch + 1 WHERE id = $1 AND $2 IN (0::bigint, epoch) RETURNING ` + saleColumns
)

// put writes the row of a sale and tells of it. What it tells is what the server
// says that the row is: a change goes there and back before the next step.
func (t *tx) put(ctx context.Context, b *rushgate.Batch, p *rushgate.Put) error {
	after := *p.Sale
	if p.Kind == rushgate.SaleCreated {
		t.create(p.Sale)
	} else if err := t.change(ctx, p, &after); err != nil {
		return err
	}
	data, err := entry.SaleJSON(&after)
	if err != nil {
		return err
	}
	var told chapter
	told.add(1, p.Kind, nil, &data)
	t.tell(b, p.Sale.ID, nil, &told)
	return nil
}

func (t *tx) create(s *rushgate.Sale) {
	t.exec(func(_ int64, err error) error {
		if codeOf(err) == codeUnique {
			return &rushgate.BarrierError{Barrier: rushgate.BarrierExists, Sale: s.ID, Detail: "the sale exists already"}
		}
		t.sales[s.ID] = &standing{s.Epoch, s.Version}
		return err
	}, sqlSaleNew, s.ID, s.Name, entry.OrNull(s.OpensAt), entry.OrNull(s.ClosesAt), s.PerUser,
		s.Hold.Milliseconds(), string(s.Ack), s.Frozen, s.Ended, s.Epoch, s.Version, s.Shards, entry.OrNull(s.CreatedAt))
	ids, names, totals := make([]string, len(s.Items)), make([]string, len(s.Items)), make([]int64, len(s.Items))
	for i, it := range s.Items {
		ids[i], names[i], totals[i] = it.ID, it.Name, it.Stock
	}
	t.exec(simply, sqlItemsNew, s.ID, ids, names, totals)
}

// change writes everything of a sale but what other steps and Fence own, and
// completes s with that.
func (t *tx) change(ctx context.Context, p *rushgate.Put, s *rushgate.Sale) error {
	t.query(func(rows pgx.Rows) error {
		row, err := pgx.CollectExactlyOneRow(rows, scanSale)
		if isNoRows(err) {
			return t.otherState(s.ID, p.Was, p.Epoch)
		}
		if err == nil {
			*s = row
			t.sales[s.ID] = &standing{s.Epoch, s.Version}
		}
		return err
	}, sqlSaleSet, s.ID, s.Name, entry.OrNull(s.OpensAt), entry.OrNull(s.ClosesAt), s.PerUser,
		s.Hold.Milliseconds(), string(s.Ack), s.Frozen, s.Ended, s.Version, p.Was, p.Epoch)
	t.items(s)
	return t.flush(ctx)
}

// items reads the items of a sale into it.
func (t *tx) items(s *rushgate.Sale) {
	t.query(func(rows pgx.Rows) (err error) {
		s.Items, err = pgx.CollectRows(rows, scanItem)
		return err
	}, sqlItems, s.ID)
}

// otherState says why a sale was not found in the state that a change was made
// from: it is not there, it has another epoch, or other rules.
func (t *tx) otherState(sale string, version, epoch int64) error {
	now := t.sales[sale]
	switch {
	case now == nil:
		return entry.NoSale(sale)
	case epoch != 0 && epoch != now.epoch:
		return entry.OtherEpoch(sale, epoch, now.epoch)
	}
	return &rushgate.BarrierError{Barrier: rushgate.BarrierVersion, Sale: sale,
		Detail: fmt.Sprintf("the change was made from version %d of the rules, the sale has version %d", version, now.version)}
}

// restock changes the total of an item.
func (t *tx) restock(b *rushgate.Batch, r *rushgate.Restock) error {
	t.query(func(rows pgx.Rows) error {
		var done, there bool
		_, err := pgx.ForEachRow(rows, []any{&done, &there}, func() error { return nil })
		now := t.sales[r.Sale]
		switch {
		case err != nil:
			return err
		case now != nil && r.Epoch != 0 && r.Epoch != now.epoch:
			return entry.OtherEpoch(r.Sale, r.Epoch, now.epoch)
		case !there:
			return entry.NoItem(r.Sale, r.Item)
		case !done:
			return &rushgate.BarrierError{Barrier: rushgate.BarrierStock, Sale: r.Sale,
				Detail: fmt.Sprintf("%+d units of %q would leave less than is taken, or more than %d", r.Add, r.Item, rushgate.MaxStock)}
		}
		return nil
	}, sqlRestock, r.Sale, r.Item, r.Add, rushgate.MaxStock)
	data, err := json.Marshal(entry.Told{Item: r.Item, Add: r.Add})
	if err != nil {
		return err
	}
	text := string(data)
	var told chapter
	told.add(1, rushgate.ItemRestocked, nil, &text)
	t.tell(b, r.Sale, nil, &told) // the epoch was compared under the lock
	return nil
}

// Fence implements [rushgate.Ledger]. A sale that is not there is an
// *rushgate.Error with NotFound.
func (l *Ledger) Fence(ctx context.Context, sale string, was int64) (s *rushgate.Sale, taken bool, err error) {
	return l.fence(ctx, nil, sale, was)
}

func (l *Ledger) fence(ctx context.Context, under *guard, sale string, was int64) (s *rushgate.Sale, taken bool, err error) {
	err = l.write(ctx, under, plainly, func(ctx context.Context, t *tx) error {
		s, taken = &rushgate.Sale{ID: sale}, false
		t.query(func(rows pgx.Rows) error {
			_, err := pgx.CollectExactlyOneRow(rows, scanSale)
			if isNoRows(err) { // there is no such sale, or somebody was faster
				return nil
			}
			taken = err == nil
			return err
		}, sqlFence, sale, was)
		t.query(func(rows pgx.Rows) error {
			row, err := pgx.CollectExactlyOneRow(rows, scanSale)
			*s = row
			return missingSale(sale, err)
		}, sqlSale, sale)
		t.items(s)
		return t.flush(ctx)
	})
	if err != nil {
		return nil, false, l.wrap("fence sale "+sale, err)
	}
	return s, taken, nil
}
