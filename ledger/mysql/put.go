package mysql

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"rushgate"
	"rushgate/ledger/entry"
)

// put writes the row of a sale and tells of it.
func (t *tx) put(b *rushgate.Batch, p *rushgate.Put) error {
	after := *p.Sale
	var err error
	if p.Kind == rushgate.SaleCreated {
		err = t.create(p.Sale)
	} else {
		err = t.change(p, &after)
	}
	if err != nil {
		return err
	}
	data, err := entry.SaleJSON(&after)
	if err != nil {
		return err
	}
	if err := t.nextSeq(p.Sale.ID, 1); err != nil {
		return err
	}
	return t.tell(b, p.Sale.ID, 1, 0, p.Kind, nil, data)
}

func (t *tx) create(s *rushgate.Sale) error {
	err := t.add(func(_ int64, refused error) error {
		if number(refused) == erDuplicate {
			return &rushgate.BarrierError{Barrier: rushgate.BarrierExists, Sale: s.ID, Detail: "the sale exists already"}
		}
		return refused
	}, `INSERT INTO sales (id, name, opens_at, closes_at, per_user, hold_ms, ack, frozen, ended, epoch, version, shards, created_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		s.ID, s.Name, entry.OrNull(s.OpensAt), entry.OrNull(s.ClosesAt), s.PerUser,
		s.Hold.Milliseconds(), string(s.Ack), s.Frozen, s.Ended, s.Epoch, s.Version, s.Shards, entry.OrNull(s.CreatedAt))
	if err != nil {
		return err
	}
	position := 0
	for part := range slices.Chunk(s.Items, maxList) {
		var args []any
		for _, it := range part {
			args = append(args, s.ID, it.ID, position, it.Name, it.Stock)
			position++
		}
		rows := strings.TrimSuffix(strings.Repeat(`(?, 1, ?, ?, ?, ?),`, len(part)), ",")
		if err := t.add(nil, `INSERT INTO items (sale, round, item, position, name, total) VALUES `+rows, args...); err != nil {
			return err
		}
	}
	return nil
}

// change writes everything of a sale but what other steps and Fence own, and
// completes s with that.
func (t *tx) change(p *rushgate.Put, s *rushgate.Sale) error {
	err := t.add(found(func() error { return t.otherState(s.ID, p.Was, p.Epoch) }),
		`UPDATE sales SET name = ?, opens_at = ?, closes_at = ?, per_user = ?, hold_ms = ?,
		ack = ?, frozen = ?, ended = ?, version = ? WHERE id = ? AND ? IN (0, version) AND ? IN (0, epoch)`,
		s.Name, entry.OrNull(s.OpensAt), entry.OrNull(s.ClosesAt), s.PerUser,
		s.Hold.Milliseconds(), string(s.Ack), s.Frozen, s.Ended, s.Version, s.ID, p.Was, p.Epoch)
	if err == nil {
		err = t.flush()
	}
	if err != nil {
		return err
	}
	now, err := saleOf(t.ctx, t, s.ID)
	if err != nil {
		return err
	}
	*s = *now
	return nil
}

// otherState says why a sale was not found in the state that a change was made
// from: it is not there, it has another epoch, or other rules.
func (t *tx) otherState(sale string, version, epoch int64) error {
	now, err := scanSale(t.QueryRowContext(t.ctx, `SELECT `+saleColumns+` FROM sales WHERE id = ?`, sale))
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

// restock changes the total of an item.
func (t *tx) restock(b *rushgate.Batch, r *rushgate.Restock) error {
	err := t.add(found(func() error { return t.otherState(r.Sale, 0, r.Epoch) }),
		`UPDATE sales SET last_seq = LAST_INSERT_ID(last_seq + 1) WHERE id = ? AND ? IN (0, epoch)`, r.Sale, r.Epoch)
	if err != nil {
		return err
	}
	err = t.add(found(func() error {
		return t.noStock(r.Sale, r.Item, fmt.Sprintf("%+d units of %q would leave less than is taken, or more than %d",
			r.Add, r.Item, rushgate.MaxStock))
	}), `UPDATE items SET total = total + ?
		WHERE sale = ? AND round = 1 AND item = ? AND total + ? BETWEEN taken AND ?`, r.Add, r.Sale, r.Item, r.Add, rushgate.MaxStock)
	if err != nil {
		return err
	}
	data, err := json.Marshal(entry.Told{Item: r.Item, Add: r.Add})
	if err != nil {
		return err
	}
	return t.tell(b, r.Sale, 1, 0, rushgate.ItemRestocked, nil, string(data))
}

// Fence implements [rushgate.Ledger]. A sale that is not there is an
// *rushgate.Error with NotFound.
func (l *Ledger) Fence(ctx context.Context, sale string, was int64) (s *rushgate.Sale, taken bool, err error) {
	return l.fence(ctx, sale, was, nil)
}

// fence fences a sale, under a lease if there is one.
func (l *Ledger) fence(ctx context.Context, sale string, was int64, under *rushgate.Lease) (s *rushgate.Sale, taken bool, err error) {
	err = l.write(ctx, task{l.w, waitRetries, plain}, func(t *tx) (err error) {
		if err := t.lockLease(sale, under); err != nil {
			return err
		}
		count := func(rows int64, refused error) error {
			taken = rows > 0
			return refused
		}
		if err := t.add(count, `UPDATE sales SET epoch = epoch + 1 WHERE id = ? AND ? IN (0, epoch)`, sale, was); err != nil {
			return err
		}
		if err := t.flush(); err != nil {
			return err
		}
		s, err = saleOf(t.ctx, t, sale)
		return err
	})
	if err != nil {
		return nil, false, wrap("fence sale "+sale, err)
	}
	return s, taken, nil
}
