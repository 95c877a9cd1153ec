package rushgate

import (
	"context"
	"time"
)

// maxDisputes bounds how often the rest of one batch is recorded again after
// the ledger refused a part of it, beside once for each of its steps.
const maxDisputes = 8

// standing is what the ledger has where claims want to be: the same claims,
// recorded by an adopter, or others that came first with the same key.
type standing struct {
	ids  map[ID]*Claim
	keys map[string]*Claim
}

func (n *node) standing(ctx context.Context, sale string, claims []Claim) (standing, error) {
	ids, keys := make([]ID, 0, len(claims)), make([]string, 0, len(claims))
	wanted := make(map[ID]*Claim, len(claims))
	for i := range claims {
		c := &claims[i]
		ids, wanted[c.ID] = append(ids, c.ID), c
		if c.Key != "" {
			keys = append(keys, c.Key)
		}
	}
	found, err := n.ledger.Find(ctx, sale, ids, keys)
	st := standing{ids: make(map[ID]*Claim, len(found)), keys: make(map[string]*Claim, len(keys))}
	for i := range found {
		c := &found[i]
		if mine := wanted[c.ID]; mine != nil && mine.User == c.User && mine.Item == c.Item && mine.Quantity == c.Quantity {
			st.ids[c.ID] = c
		}
		if c.Key != "" {
			st.keys[c.Key] = c
		}
	}
	// Two of these very claims may have one key, if the gate knew each in
	// another shard: the first one has it.
	for i := range claims {
		if c := &claims[i]; c.Key != "" && st.keys[c.Key] == nil {
			st.keys[c.Key] = c
		}
	}
	return st, err
}

// byID is the same claim as the ledger has it, or nil. An id alone is not
// enough: if ever two nodes made the same, each buyer still hears of their own.
func (s standing) byID(c *Claim) *Claim { return s.ids[c.ID] }

// byKey is another claim that has this claim's key, or nil.
func (s standing) byKey(c *Claim) *Claim {
	if other := s.keys[c.Key]; c.Key != "" && s.ids[c.ID] == nil && other.ID != c.ID {
		return other
	}
	return nil
}

// claims lists the claims that were recorded already.
func (s standing) claims() []Claim {
	list := make([]Claim, 0, len(s.ids))
	for _, c := range s.ids {
		list = append(list, *c)
	}
	return list
}

// dispute takes out of a batch what the ledger refused of one sale, so that the
// rest can be recorded; the batch was not written. Claims that an adopter was
// faster to record are granted all the same, as the ledger has them. A key that
// another claim has tells that claim. Everything else of the sale is turned
// away: the gate was wrong about it.
func (d *desk) dispute(b *batch, barrier *BarrierError) error {
	ctx, cancel := context.WithTimeout(context.Background(), recordTimeout)
	defer cancel()
	known := false
	for _, step := range b.write.Steps {
		if g, ok := step.(*Grant); ok && g.Sale == barrier.Sale {
			st, err := d.node.standing(ctx, g.Sale, g.Claims)
			if err != nil {
				return err
			}
			known = b.settleDispute(ctx, g, st) || known
		}
	}
	if !known {
		d.log.Error("the ledger was the last barrier", "sale", barrier.Sale, "barrier", barrier.Barrier, "detail", barrier.Detail)
		if barrier.Barrier != BarrierVersion { // which says that an operator was slower than another
			d.node.doubt(barrier.Sale, b.epochOf(barrier.Sale))
		}
		b.turnAway(ctx, barrier)
	}
	return nil
}

// epochOf is the epoch by which the batch's steps of a sale were made: the oldest,
// if there are several. The present one may be that of a mend which has come since.
func (b *batch) epochOf(sale string) int64 {
	var oldest int64
	for _, step := range b.write.Steps {
		if epoch := epochOf(step); step.On() == sale && epoch != 0 && (oldest == 0 || epoch < oldest) {
			oldest = epoch
		}
	}
	if s := b.desk.catalog.sale(sale); s != nil && oldest == 0 {
		return s.Epoch
	}
	return oldest
}

// epochOf is the epoch that a step carries, or 0.
func epochOf(step Step) int64 {
	switch s := step.(type) {
	case *Grant:
		return s.Epoch
	case *Put:
		return s.Epoch
	case *Restock:
		return s.Epoch
	}
	return 0
}

// settleDispute takes the claims out of a grant that the ledger has already, and
// those whose key belongs to another claim. It says whether there were any.
func (b *batch) settleDispute(ctx context.Context, g *Grant, st standing) bool {
	rest := g.Claims[:0]
	var taken, told []Claim
	all := len(g.Claims)
	for _, c := range g.Claims {
		answer := b.resultOf(c.ID)
		switch same, other := st.byID(&c), st.byKey(&c); {
		case same != nil:
			if answer != nil {
				*answer = asRecorded(same)
			}
		case other != nil:
			taken = append(taken, c)
			if answer != nil {
				*answer = Result{Receipt: Receipt{Claim: Claim{ID: other.ID}, Replayed: true}}
			} else if b.early[c.ID] {
				told = append(told, c)
			}
		default:
			rest = append(rest, c)
		}
	}
	g.Claims = rest
	if len(told) > 0 {
		b.write.Steps = append(b.write.Steps, &Revoke{Sale: g.Sale, Claims: told})
	}
	if len(taken) > 0 {
		if err := b.desk.gate.Forget(ctx, taken); err != nil {
			b.desk.log.Error("the gate could not take grants back; the auditor will mend it", "sale", g.Sale, "error", err)
		}
	}
	if err := b.desk.node.clear(ctx, st.claims()); err != nil {
		b.desk.log.Warn("the journal could not be cleared; an adopter will", "sale", g.Sale, "error", err)
	}
	return len(rest) < all
}

// asRecorded is the answer to a buyer who waits, when somebody else was faster to
// write the claim down: as granted, or as lost.
func asRecorded(c *Claim) Result {
	if c.State == Revoked {
		return Result{Err: unavailable(nil, "the gate lost it before it could be recorded; nothing was granted")}
	}
	return Result{Receipt: Receipt{Claim: *c}}
}

// resultOf is the answer that a claim of the batch is going to be, or nil when
// its buyer has heard already.
func (b *batch) resultOf(id ID) *Result {
	for _, t := range b.tickets {
		for i := range t.answers {
			if r := &t.answers[i]; r.Err == nil && !r.Replayed && r.Claim.ID == id {
				return r
			}
		}
	}
	return nil
}

// turnAway drops every step of a sale from the batch, undoes it at the gate and
// tells the tickets. Claims whose buyers have heard already are written down as
// revoked instead, as far as they cannot be recorded one by one.
func (b *batch) turnAway(ctx context.Context, barrier *BarrierError) {
	sale := barrier.Sale
	kept := b.write.Steps[:0]
	var told []Claim
	for _, step := range b.write.Steps {
		g, ok := step.(*Grant)
		switch {
		case step.On() != sale:
			kept = append(kept, step)
		case ok:
			mine, early := b.divide(g.Claims)
			if barrier.Barrier == BarrierEpoch {
				told = append(told, early...)
			} else { // one of them was too much: the others can still be recorded
				b.desk.node.promise(promise{sale: sale, epoch: g.Epoch, claims: early})
			}
			if err := b.desk.gate.Forget(ctx, b.forgettable(mine)); err != nil {
				b.desk.log.Error("the gate could not take grants back; the auditor will mend it", "sale", sale, "error", err)
			}
		}
	}
	clear(b.write.Steps[len(kept):])
	b.write.Steps = kept
	if len(told) > 0 {
		b.write.Steps = append(b.write.Steps, &Revoke{Sale: sale, Claims: told})
	}
	b.turnAwayTickets(sale, barrier)
}

// divide tells the claims of which nobody has heard from those that were
// acknowledged early.
func (b *batch) divide(claims []Claim) (mine, early []Claim) {
	for _, c := range claims {
		if b.early[c.ID] {
			early = append(early, c)
		} else {
			mine = append(mine, c)
		}
	}
	return mine, early
}

// turnAwayTickets tells everybody who wanted something of a sale that it did
// not happen.
func (b *batch) turnAwayTickets(sale string, barrier *BarrierError) {
	for _, t := range b.tickets {
		if t.errand != nil && t.errand.on() == sale && t.err == nil {
			t.errand.undo(b)
			t.err = unavailable(barrier, "it could not be recorded; nothing was changed")
		}
		for i := range t.answers {
			if r := &t.answers[i]; r.Err == nil && !r.Replayed && r.Claim.Sale == sale {
				*r = Result{Err: unavailable(barrier, "it could not be recorded; nothing was granted")}
			}
		}
	}
}

// late says that a batch has taken so long that an adopter may have recorded its
// claims, or be about to: then the journal decides, not this node.
func (n *node) late(began time.Time) bool {
	return n.now().Sub(began) > n.adoptAfter/2
}
