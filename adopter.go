package rushgate

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// adoptLimit bounds what one step of the adopter records.
const adoptLimit = 1000

// adoptAll records what nodes granted and did not record, because they died or
// stood still between gate and ledger, until ctx ends.
func (n *node) adoptAll(ctx context.Context) {
	every(ctx, max(n.adoptAfter/4, time.Millisecond), nil, func() {
		if !n.chores() {
			return
		}
		for _, sale := range n.catalog.all() {
			_, err := n.adopt(ctx, sale.ID, n.adoptAfter)
			n.heedLoss(sale.ID, err)
			if ctx.Err() == nil {
				n.complain.about(notAdopted, sale.ID, err)
			}
			if mark, err := n.gate.Mark(ctx, sale.ID); err == nil && mark.Epoch != 0 {
				n.inStep(n.catalog.sale(sale.ID), mark)
			}
			if _, err := n.mendWithin(ctx, sale.ID); ctx.Err() == nil {
				n.complain.about(notHome, sale.ID, err)
			}
		}
	})
}

// mendWithin brings home what is on its way between the shards of a sale.
func (n *node) mendWithin(ctx context.Context, sale string) (units int64, err error) {
	if s := n.catalog.sale(sale); s == nil || s.Shards < 2 {
		return 0, nil
	}
	if units, err = n.gate.Mend(ctx, sale); units > 0 {
		n.log.Warn("units were left between shards and are home", "sale", sale, "units", units)
	}
	return units, err
}

// adopt records the claims of a sale that have waited in the journal for longer
// than age, and settles them. Whoever made them may still be alive and do the
// same: what is recorded already is only settled. It returns how many were left
// to adopt when it began the last step: 0 when the journal has no such claim.
func (n *node) adopt(ctx context.Context, sale string, age time.Duration) (left int, err error) {
	for range adoptLimit {
		claims, epoch, err := n.gate.Orphans(ctx, sale, age, adoptLimit)
		if err != nil || len(claims) == 0 {
			return len(claims), err
		}
		if err := n.adoptClaims(ctx, sale, epoch, claims); err != nil {
			return len(claims), err
		}
	}
	return adoptLimit, nil
}

// adoptClaims records claims of one epoch, those that are not recorded yet, and
// takes them out of the journal.
func (n *node) adoptClaims(ctx context.Context, sale string, epoch int64, claims []Claim) error {
	s, err := n.ledger.Sale(ctx, sale)
	if err != nil {
		return err
	}
	st, err := n.standing(ctx, sale, claims)
	if err != nil {
		return err
	}
	var missing, taken []Claim
	for _, c := range claims {
		if st.byKey(&c) != nil {
			taken = append(taken, c)
		} else if st.byID(&c) == nil {
			missing = append(missing, c)
		}
	}
	if err := n.giveUp(ctx, s, taken); err != nil {
		return err
	}
	if len(missing) > 0 {
		if err := n.recordAdopted(ctx, &Grant{Sale: sale, Epoch: epoch, PerUser: s.PerUser, Claims: missing}); err != nil {
			return err
		}
		n.observe.Adopted(len(missing))
		n.watch.tell(sale)
		n.log.Warn("claims were adopted: the node that granted them did not record them", "sale", sale, "claims", len(missing))
	}
	return n.clear(ctx, append(st.claims(), missing...))
}

// giveUp takes claims back that will never be recorded. Those of which their
// buyers may have heard are written down as revoked.
func (n *node) giveUp(ctx context.Context, s *Sale, claims []Claim) error {
	if len(claims) == 0 {
		return nil
	}
	if s.Ack != Recorded {
		if err := n.revoke(ctx, s.ID, claims); err != nil {
			return err
		}
	}
	return n.gate.Forget(ctx, claims)
}

// recordAdopted records adopted claims. If the ledger refuses them although none
// of them is there, the gate was wrong about the sale when it granted them: it is
// mended, if nobody has done it since.
func (n *node) recordAdopted(ctx context.Context, g *Grant) error {
	err := n.ledger.Record(ctx, &Batch{ID: int64(n.ids.next()), At: n.now().Truncate(time.Millisecond), Steps: []Step{g}})
	var barrier *BarrierError
	if !errors.As(err, &barrier) {
		return err
	}
	st, findErr := n.standing(ctx, g.Sale, g.Claims)
	if findErr == nil && len(st.ids) == 0 && barrier.Barrier != BarrierID {
		n.doubt(g.Sale, g.Epoch) // otherwise somebody else was faster: the next step finds them
	}
	return err
}

// clear takes recorded claims out of the journal, and gives back those that
// have ended since.
func (n *node) clear(ctx context.Context, recorded []Claim) error {
	var active, ended []Claim
	for _, c := range recorded {
		if c.State.Active() {
			active = append(active, c)
		} else {
			ended = append(ended, c)
		}
	}
	if len(active) > 0 {
		if err := n.gate.Settle(ctx, active); err != nil {
			return err
		}
	}
	if len(ended) > 0 {
		return n.gate.Return(ctx, ended)
	}
	return nil
}

// drain records what the gate granted under an epoch and nobody recorded, before
// that epoch ends. What the ledger refuses for good was lost, if it was
// acknowledged, and is written down as revoked.
func (n *node) drain(ctx context.Context, sale string, epoch int64) error {
	if epoch == 0 {
		return nil
	}
	var err error
	for range drainTries { // others may record the same claims at the same time
		if _, err = n.adopt(ctx, sale, 0); barrierOf(err) == "" {
			return err
		}
	}
	s, readErr := n.ledger.Sale(ctx, sale)
	if readErr != nil || s.Ack == Recorded {
		return readErr // nobody was told of what is left
	}
	return n.drainEach(ctx, s)
}

// drainTries bounds how often all that is left is recorded together before it is
// tried one by one.
const drainTries = 5

// drainEach records claim by claim what could not be recorded together, and
// gives up those that the ledger refuses alone.
func (n *node) drainEach(ctx context.Context, s *Sale) error {
	for range adoptLimit {
		claims, epoch, err := n.gate.Orphans(ctx, s.ID, 0, adoptLimit)
		if err != nil || len(claims) == 0 {
			return err
		}
		for _, c := range claims {
			err := n.adoptClaims(ctx, s.ID, epoch, []Claim{c})
			if barrierOf(err) != "" {
				err = n.giveUp(ctx, s, []Claim{c})
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// revoke writes down that acknowledged claims are lost.
func (n *node) revoke(ctx context.Context, sale string, claims []Claim) error {
	r := &Revoke{Sale: sale, Claims: claims}
	b := &Batch{ID: int64(n.ids.next()), At: n.now().Truncate(time.Millisecond), Steps: []Step{r}}
	if err := n.ledger.Record(ctx, b); err != nil {
		return fmt.Errorf("write down revoked claims: %w", err)
	}
	n.observe.Revoked(len(r.Revoked))
	n.watch.tell(sale)
	n.log.Error("acknowledged claims were lost by the gate and are revoked", "sale", sale, "claims", len(r.Revoked))
	return nil
}

// drained waits until everything that was granted before is recorded: after a
// freeze, so that nothing is granted when it has answered. What the granting
// nodes do not record in time is adopted.
func (n *node) drained(ctx context.Context, sale string) error {
	const tries = 100
	var err error
	for try := range tries {
		var claims []Claim
		if claims, _, err = n.gate.Orphans(ctx, sale, 0, 1); err == nil && len(claims) == 0 {
			return nil
		}
		if err == nil && try >= tries/4 {
			_, err = n.adopt(ctx, sale, 0)
		}
		if !pause(ctx, awaitPause) {
			break
		}
	}
	return unavailable(err, "the change holds, but claims that were granted before it still wait for the ledger")
}
