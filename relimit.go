package rushgate

import (
	"context"
	"errors"
	"time"
)

// current reads a sale as it is now, and which version a change of its rules
// gets: one above every version that the ledger or the gate has seen.
func (n *node) current(ctx context.Context, id string) (sale *Sale, version int64, err error) {
	if sale, err = n.ledger.Sale(ctx, id); err != nil {
		return nil, 0, err
	}
	mark, err := n.gate.Mark(ctx, id)
	if err != nil {
		return nil, 0, unavailable(err, "the gate cannot be reached; nothing was changed")
	}
	if mark.Epoch != sale.Epoch { // it is being built anew
		n.doubt(id, mark.Epoch)
		return nil, 0, unavailable(ErrStale, "the gate is being built anew; nothing was changed")
	}
	n.catalog.put(sale)
	return sale, max(sale.Version, mark.Version) + 1, nil
}

// relimit changes the limit per user where several nodes sell. The claims of
// all of them are decided by one limit and recorded by the same: so the sale
// stands still while the limit changes, and the gate is built anew under it.
func (s *Service) relimit(ctx context.Context, before, after *Sale, kind EventKind) (*SaleView, error) {
	n := s.node
	still := before.clone()
	still.Frozen, still.Version = true, after.Version
	if err := n.gate.Put(ctx, still); err != nil {
		return nil, unavailable(err, "the gate cannot be reached; nothing was changed")
	}
	after.Version = still.Version + 1
	err := n.drained(ctx, before.ID)
	if err == nil {
		err = n.recordLimit(ctx, before, after, kind)
	}
	if err != nil {
		back := before.clone()
		back.Version = after.Version + 1
		if undo := n.gate.Put(ctx, back); undo != nil || errors.Is(err, ErrUnknown) {
			n.doubt(before.ID, before.Epoch)
		}
		return nil, err
	}
	s.log.Info("sale", "event", kind, "sale", after.ID)
	n.doubt(after.ID, before.Epoch)
	if err := n.mendNow(ctx, after.ID); err != nil {
		return nil, unavailable(err, "the change is recorded; the gate follows as soon as it can")
	}
	return s.Sale(ctx, after.ID)
}

// recordLimit writes the new limit, unless somebody would have more than it allows.
func (n *node) recordLimit(ctx context.Context, before, after *Sale, kind EventKind) error {
	if after.PerUser != 0 && (before.PerUser == 0 || after.PerUser < before.PerUser) {
		stock, err := n.ledger.Stock(ctx, before.ID)
		if err != nil {
			return unavailable(err, "the ledger cannot be read now; nothing was changed")
		}
		for _, st := range stock {
			if st.Taken > 0 {
				return errNarrower
			}
		}
	}
	b := &Batch{ID: int64(n.ids.next()), At: n.now().Truncate(time.Millisecond),
		Steps: []Step{&Put{Sale: after, Kind: kind, Was: before.Version, Epoch: before.Epoch}}}
	if err := n.ledger.Record(ctx, b); err != nil {
		return unavailable(err, "it could not be recorded; look again whether it was changed")
	}
	n.watch.tell(after.ID)
	return nil
}
