package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"rushgate"
)

// put writes the row of a sale and tells of it.
func (w *writer) put(ctx context.Context, b *rushgate.Batch, p *rushgate.Put) error {
	after := *p.Sale
	var err error
	if p.Kind == rushgate.SaleCreated {
		err = w.create(ctx, p.Sale)
	} else {
		err = w.change(ctx, &after)
	}
	if err != nil {
		return err
	}
	data, err := saleJSON(&after)
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
	_, err := w.saleNew.ExecContext(ctx, s.ID, s.Name, orNull(s.OpensAt), orNull(s.ClosesAt), s.PerUser,
		s.Hold.Milliseconds(), string(s.Ack), s.Frozen, s.Ended, s.Epoch, orNull(s.CreatedAt))
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
func (w *writer) change(ctx context.Context, s *rushgate.Sale) error {
	var created sql.NullInt64
	err := w.saleSet.QueryRowContext(ctx, s.ID, s.Name, orNull(s.OpensAt), orNull(s.ClosesAt), s.PerUser,
		s.Hold.Milliseconds(), string(s.Ack), s.Frozen, s.Ended).Scan(&s.Epoch, &created)
	if errors.Is(err, errNoRows) {
		return noSale(s.ID)
	}
	if err != nil {
		return err
	}
	s.CreatedAt = moment(created)
	s.Items, err = itemsOf(ctx, w.conn, s.ID)
	return err
}

// add changes the total of an item.
func (w *writer) add(ctx context.Context, b *rushgate.Batch, r *rushgate.Restock) error {
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
	data, err := json.Marshal(told{Item: r.Item, Add: r.Add})
	if err != nil {
		return err
	}
	return w.tell(ctx, b, r.Sale, last, 1, rushgate.ItemRestocked, nil, string(data))
}

// Fence implements [rushgate.Ledger]. A sale that is not there is an
// *rushgate.Error with NotFound.
func (l *Ledger) Fence(ctx context.Context, sale string) (*rushgate.Sale, error) {
	var s rushgate.Sale
	plain := func(commit func() error) error { return commit() }
	err := l.write(ctx, plain, func(ctx context.Context, w *writer) (err error) {
		if s, err = scanSale(w.fence.QueryRowContext(ctx, sale)); err != nil {
			return missingSale(sale, err)
		}
		s.Items, err = itemsOf(ctx, w.conn, sale)
		return err
	})
	if err != nil {
		return nil, wrap("fence sale "+sale, err)
	}
	return &s, nil
}
