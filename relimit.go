package rushgate

import (
	"context"
	"errors"
	"time"
)

// current reads a sale as it is now in the ledger and at the gate. While they
// differ, another node is changing it, or has died in the middle of that: then
// the gate is mended after a while.
func (n *node) current(ctx context.Context, id string) (*Sale, error) {
	sale, err := n.ledger.Sale(ctx, id)
	if err != nil {
		return nil, err
	}
	mark, err := n.gate.Mark(ctx, id)
	if err != nil {
		return nil, unavailable(err, "the gate cannot be reached; nothing was changed")
	}
	n.catalog.put(sale)
	if !n.inStep(sale, mark) {
		return nil, unavailable(ErrStale, "another node is changing the sale; nothing was changed")
	}
	return sale, nil
}

// stepPatience is how long a gate's rules may differ from the ledger's: a change
// is at the gate first.
const stepPatience = 2 * time.Second

// inStep says whether gate and ledger have the same rules. When they have
// differed for too long, whoever changed them will not come back. A gate of a later
// epoch was built anew since the sale was read: that alone says nothing against it.
func (n *node) inStep(sale *Sale, mark Mark) bool {
	n.mends.Lock()
	since, ahead := n.ahead[sale.ID]
	if mark.Epoch == sale.Epoch && mark.Version == sale.Version {
		delete(n.ahead, sale.ID)
		n.mends.Unlock()
		return true
	}
	if !ahead {
		n.ahead[sale.ID] = time.Now()
	}
	n.mends.Unlock()
	if mark.Epoch < sale.Epoch || ahead && time.Since(since) > stepPatience {
		n.doubt(sale.ID, mark.Epoch)
	}
	return false
}

// relimit changes the limit per user where several nodes sell. The claims of
// all of them are decided by one limit and recorded by the same: so the sale
// stands still while the limit changes, and the gate is built anew under it.
func (s *Service) relimit(ctx context.Context, before, after *Sale, kind EventKind) (*SaleView, error) {
	n := s.node
	still := before.clone()
	still.Frozen, still.Version = true, after.Version
	if err := n.gate.Put(ctx, &Put{Sale: still, Was: before.Version}); err != nil {
		if !errors.Is(err, ErrStale) {
			n.doubt(before.ID, before.Epoch) // a part of the gate may stand still
		}
		return nil, unavailable(err, "the gate cannot be reached; nothing was changed")
	}
	n.halted(before.ID, Mark{Epoch: still.Epoch, Version: still.Version})
	err := n.drained(ctx, before.ID)
	if err == nil {
		err = n.recordLimit(ctx, before, after, kind)
	}
	if err != nil {
		n.doubt(before.ID, before.Epoch) // the gate stands still, by rules that nobody recorded
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
