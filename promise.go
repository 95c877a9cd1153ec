package rushgate

import (
	"context"
	"errors"
	"time"
)

// promise is claims of one sale whose buyers have heard of them, granted under
// one epoch, and not recorded: the ledger failed. The gate's journal has them
// too, as long as the gate remembers; this node remembers beside it, so that
// they are lost without a trace only if both are.
type promise struct {
	sale   string
	epoch  int64 // 0: they are lost, which is to be written down
	claims []Claim
}

// promise remembers claims until they are recorded, or revoked. There is no
// bound of its own: the gate's journal bounds how many wait, and a gate that
// forgets grants nothing until the ledger is there.
func (n *node) promise(p promise) {
	if len(p.claims) == 0 {
		return
	}
	n.owed.Lock()
	n.promises = append(n.promises, p)
	n.owed.Unlock()
	n.log.Warn("acknowledged claims wait for the ledger", "sale", p.sale, "claims", len(p.claims))
	wake(n.owing)
}

// promised hands over all promises there are.
func (n *node) promised() []promise {
	n.owed.Lock()
	defer n.owed.Unlock()
	all := n.promises
	n.promises = nil
	return all
}

// keepPromises keeps them, until ctx ends.
func (n *node) keepPromises(ctx context.Context) {
	every(ctx, max(n.adoptAfter/4, time.Millisecond), n.owing, func() {
		if err := n.keepAll(ctx); ctx.Err() == nil {
			n.complain.about(notKept, "", err)
		}
	})
}

// keepAll keeps what can be kept now. The rest stays promised.
func (n *node) keepAll(ctx context.Context) error {
	var errs []error
	var rest []promise
	for _, p := range n.promised() {
		if err := n.keep(ctx, p); err != nil {
			errs, rest = append(errs, err), append(rest, p)
		}
	}
	if len(rest) > 0 {
		n.owed.Lock()
		n.promises = append(rest, n.promises...)
		n.owed.Unlock()
	}
	return errors.Join(errs...)
}

// keep records the claims of a promise, those that nobody has recorded yet. What
// the ledger refuses, because the gate was built anew without it, is revoked.
func (n *node) keep(ctx context.Context, p promise) error {
	ctx, cancel := context.WithTimeout(ctx, recordTimeout)
	defer cancel()
	st, err := n.standing(ctx, p.sale, p.claims)
	if err != nil {
		return err
	}
	var missing, lost []Claim
	for _, c := range p.claims {
		switch {
		case st.byID(&c) != nil:
		case p.epoch == 0 || st.byKey(&c) != nil:
			lost = append(lost, c)
		default:
			missing = append(missing, c)
		}
	}
	recorded, refused, err := n.recordPromised(ctx, p, missing)
	if err != nil {
		return err
	}
	if len(refused) > 0 {
		n.doubt(p.sale, p.epoch)
	}
	if lost = append(lost, refused...); len(lost) > 0 {
		if err := n.revoke(ctx, p.sale, lost); err != nil {
			return err
		}
	}
	if err := n.clear(ctx, append(st.claims(), recorded...)); err != nil {
		n.log.Warn("the journal could not be cleared; an adopter will", "sale", p.sale, "error", err)
	}
	return nil
}

// recordPromised records claims together. When one that cannot be recorded keeps
// the others from it, their halves are tried, so that it alone is refused.
func (n *node) recordPromised(ctx context.Context, p promise, claims []Claim) (recorded, refused []Claim, err error) {
	if len(claims) == 0 {
		return nil, nil, nil
	}
	err = n.recordTogether(ctx, p, claims)
	switch barrier := barrierOf(err); {
	case err == nil:
		return claims, nil, nil
	case barrier == "" || barrier == BarrierID || barrier == BarrierLease: // ids: an adopter was faster, the next try finds them
		return nil, nil, err
	case barrier == BarrierEpoch || len(claims) == 1:
		return nil, claims, nil
	}
	for _, half := range [][]Claim{claims[:len(claims)/2], claims[len(claims)/2:]} {
		some, others, err := n.recordPromised(ctx, p, half)
		if err != nil {
			return nil, nil, err
		}
		recorded, refused = append(recorded, some...), append(refused, others...)
	}
	return recorded, refused, nil
}

func (n *node) recordTogether(ctx context.Context, p promise, claims []Claim) error {
	s, err := n.ledger.Sale(ctx, p.sale)
	if err != nil {
		return err
	}
	b := &Batch{ID: int64(n.ids.next()), At: n.now().Truncate(time.Millisecond),
		Steps: []Step{&Grant{Sale: p.sale, Epoch: p.epoch, PerUser: s.PerUser, Claims: claims}}}
	if err := n.ledger.Record(ctx, b); err != nil {
		return err
	}
	n.watch.tell(p.sale)
	return nil
}

// keepLast keeps the promises of a node that ends: for as long as a ledger may
// be expected to come back, and then the journal is all that knows of them.
func (n *node) keepLast() {
	ctx, cancel := context.WithTimeout(context.Background(), recordTimeout)
	defer cancel()
	for {
		err := n.keepAll(ctx)
		if err == nil {
			return
		}
		if errors.Is(err, ErrLost) || !pause(ctx, busyPause) {
			n.log.Error("this node ends, and claims that it acknowledged are known to the gate alone", "error", err)
			return
		}
	}
}

// promise has the node remember what a batch has told and not recorded.
func (b *batch) promise() {
	if b.desk.node == nil {
		return
	}
	for _, s := range b.write.Steps {
		switch s := s.(type) {
		case *Grant:
			_, told := b.divide(s.Claims)
			b.desk.node.promise(promise{sale: s.Sale, epoch: s.Epoch, claims: told})
		case *Revoke:
			b.desk.node.promise(promise{sale: s.Sale, claims: s.Claims})
		}
	}
}
