package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"rushgate"
	"rushgate/ledger/entry"
)

// put writes the row of a sale and tells of it.
func (w *writer) put(ctx context.Context, b *rushgate.Batch, p *rushgate.Put) error {
	after := *p.Sale
	var err error
	if p.Kind == rushgate.SaleCreated {
		err = w.create(ctx, p.Sale)
	} else {
		err = w.change(ctx, p, &after)
	}
	if err != nil {
		return err
	}
	data, err := entry.SaleJSON(&after)
	if err != nil {
		return err
	}
	last, err := w.nextSeq(ctx, p.Sale.ID, 1)
	if err != nil {
		return err
	}
	return w.tell(ctx, b, p.Sale.ID, last, 1, p.Kind, nil, data)
}

func (w *writer) create(ctx context.Context, s *rushgate.Sale) error {
	_, err := w.saleNew.ExecContext(ctx, s.ID, s.Name, entry.OrNull(s.OpensAt), entry.OrNull(s.ClosesAt), s.PerUser,
		s.Hold.Milliseconds(), string(s.Ack), s.Frozen, s.Ended, s.Epoch, s.Version, s.Shards, entry.OrNull(s.CreatedAt))
	if isUnique(err) {
		return &rushgate.BarrierError{Barrier: rushgate.BarrierExists, Sale: s.ID, Detail: "the sale exists already"}
	}
	if err != nil {
		return err
	}
	for i, it := range s.Items {
		if _, err := w.itemNew.ExecContext(ctx, s.ID, it.ID, i, it.Name, it.Stock); err != nil {
			return err
		}
	}
	return nil
}

// change writes everything of a sale but what other steps and Fence own, and
// completes s with that.
func (w *writer) change(ctx context.Context, p *rushgate.Put, s *rushgate.Sale) error {
	var created sql.NullInt64
	err := w.saleSet.QueryRowContext(ctx, s.ID, s.Name, entry.OrNull(s.OpensAt), entry.OrNull(s.ClosesAt), s.PerUser,
		s.Hold.Milliseconds(), string(s.Ack), s.Frozen, s.Ended, s.Version, p.Was, p.Epoch).Scan(&s.Epoch, &s.Shards, &created)
	if errors.Is(err, errNoRows) {
		return w.otherState(ctx, s.ID, p.Was, p.Epoch)
	}
	if err != nil {
		return err
	}
	s.CreatedAt = entry.Moment(created)
	s.Items, err = itemsOf(ctx, w.conn, s.ID)
	return err
}

// otherState says why a sale was not found in the state that a change was made
// from: it is not there, it has another epoch, or other rules.
func (w *writer) otherState(ctx context.Context, sale string, version, epoch int64) error {
	now, err := scanSale(w.conn.QueryRowContext(ctx, `SELECT `+saleColumns+` FROM sales WHERE id = ?`, sale))
	switch {
	case errors.Is(err, errNoRows):
		return entry.NoSale(sale)
	case err != nil:
		return err
	case epoch != 0 && epoch != now.Epoch:
		return entry.OtherEpoch(sale, epoch, now.Epoch)
	}
	return &rushgate.BarrierError{Barrier: rushgate.BarrierVersion, Sale: sale,
		Detail: fmt.Sprintf("the change was made from version %d of the rules, the sale has version %d", version, now.Version)}
}

// add changes the total of an item.
func (w *writer) add(ctx context.Context, b *rushgate.Batch, r *rushgate.Restock) error {
	if r.Epoch != 0 {
		var epoch int64
		if err := w.epochOf.QueryRowContext(ctx, r.Sale).Scan(&epoch); err != nil && !errors.Is(err, errNoRows) {
			return err
		} else if err == nil && epoch != r.Epoch {
			return entry.OtherEpoch(r.Sale, r.Epoch, epoch)
		}
	}
	res, err := w.restock.ExecContext(ctx, r.Add, r.Sale, r.Item, rushgate.MaxStock)
	if err != nil {
		return err
	}
	n, err := res.RowsAffected()
	if err != nil {
		return err
	}
	if n == 0 {
		return w.noStock(ctx, r.Sale, r.Item, fmt.Sprintf("%+d units of %q would leave less than is taken, or more than %d",
			r.Add, r.Item, rushgate.MaxStock))
	}
	last, err := w.nextSeq(ctx, r.Sale, 1)
	if err != nil {
		return err
	}
	data, err := json.Marshal(entry.Told{Item: r.Item, Add: r.Add})
	if err != nil {
		return err
	}
	return w.tell(ctx, b, r.Sale, last, 1, rushgate.ItemRestocked, nil, string(data))
}

// Fence implements [rushgate.Ledger]. A sale that is not there is an
// *rushgate.Error with NotFound.
func (l *Ledger) Fence(ctx context.Context, sale string, was int64) (s *rushgate.Sale, taken bool, err error) {
	plain := func(commit func() error) error { return commit() }
	err = l.write(ctx, plain, func(ctx context.Context, w *writer) error {
		row, err := scanSale(w.fence.QueryRowContext(ctx, sale, was))
		if errors.Is(err, errNoRows) { // there is no such sale, or somebody was faster
			s, err = saleOf(ctx, w.conn, sale)
			return err
		}
		if err != nil {
			return err
		}
		s, taken = &row, true
		s.Items, err = itemsOf(ctx, w.conn, sale)
		return err
	})
	if err != nil {
		return nil, false, wrap("fence sale "+sale, err)
	}
	return s, taken, nil
}
