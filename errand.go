package rushgate

import (
	"context"
	"errors"
)

// errand is everything at the desk that is not a claim: confirmations,
// releases, expiries, operators' changes, audits. What takes units happens in
// enter, before the ledger; what gives units in leave, after it. Rules change
// in enter, stricter or not: the claims that are decided by them are recorded
// in the same transaction, or not at all.
type errand interface {
	on() string  // the sale
	alone() bool // must not share a batch: it needs gate and ledger at rest

	// enter does the gate's part that comes first and adds the ledger's part
	// to the batch. If it fails, the errand has had no effect.
	enter(b *batch) error
	// leave does the gate's part that comes last. The batch is recorded.
	leave(b *batch) error
	// undo takes enter back. The batch was not recorded.
	undo(b *batch)
}

// moveErrand takes held claims of one sale to a final state.
type moveErrand struct {
	sale  string
	ids   []ID
	to    State
	moved []*Claim // those that took the step
}

// move brings claims to a state. Those that were not held, or whose time was
// over, are missing from what it returns.
func (d *desk) move(ctx context.Context, sale string, to State, ids ...ID) ([]*Claim, error) {
	m := &moveErrand{sale: sale, ids: ids, to: to}
	if err := d.run(ctx, m); err != nil {
		return nil, err
	}
	return m.moved, nil
}

func (m *moveErrand) on() string  { return m.sale }
func (m *moveErrand) alone() bool { return false }

func (m *moveErrand) enter(b *batch) error {
	step := b.moveStep(m.sale, m.to)
	step.IDs = append(step.IDs, m.ids...)
	return nil
}

func (m *moveErrand) leave(b *batch) error {
	for _, id := range m.ids {
		if c := b.moved[id]; c != nil && c.State == m.to {
			m.moved = append(m.moved, c)
		}
	}
	return nil
}

func (m *moveErrand) undo(*batch) {}

// putErrand writes the rules of a sale: a new one, or a change.
type putErrand struct {
	before *Sale // nil for a new sale
	after  *Sale
	kind   EventKind
	apart  bool // other nodes may be faster: then nobody else's claims should suffer
}

func (p *putErrand) on() string { return p.after.ID }

// alone: with another limit, the claims behind the change are decided by one
// number and recorded by the other; and between "no limit" and "a limit" the
// gate is loaded anew, which it can only be at rest.
func (p *putErrand) alone() bool {
	return p.apart || p.before != nil && p.before.PerUser != p.after.PerUser
}

// reload: a gate remembers people where there is a limit, and claims where
// there is none.
func (p *putErrand) reload() bool {
	return p.before != nil && (p.before.PerUser == 0) != (p.after.PerUser == 0)
}

func (p *putErrand) narrower() bool {
	return p.before != nil && p.before.PerUser != p.after.PerUser && p.after.PerUser != 0 && (p.before.PerUser == 0 || p.after.PerUser < p.before.PerUser)
}

func (p *putErrand) enter(b *batch) error {
	if b.desk.node == nil {
		b.desk.catalog.sameEpoch(p.after)
	}
	if p.narrower() {
		if err := b.unclaimed(p.before); err != nil {
			return err
		}
	}
	if p.before != nil && !p.reload() {
		if err := b.desk.gate.Put(context.Background(), p.step()); err != nil {
			return unavailable(err, "the gate cannot be reached; nothing was changed")
		}
	}
	b.write.Steps = append(b.write.Steps, p.step())
	return nil
}

// step is the ledger's part: a change of the state that it was made from.
func (p *putErrand) step() *Put {
	if p.before == nil {
		return &Put{Sale: p.after, Kind: p.kind}
	}
	return &Put{Sale: p.after, Kind: p.kind, Was: p.before.Version, Epoch: p.after.Epoch}
}

var errNarrower = &Error{Code: WrongState, Field: "per_user",
	Message: "the limit can only become wider: somebody has a claim already"}

// unclaimed refuses when anybody has a claim of the sale: with a narrower
// limit, somebody would have more than it allows.
func (b *batch) unclaimed(sale *Sale) error {
	counts, err := b.desk.gate.Count(context.Background(), sale.ID)
	if err != nil {
		return unavailable(err, "the gate cannot be reached; nothing was changed")
	}
	for _, c := range counts {
		if it := b.desk.catalog.sale(sale.ID).Item(c.Item); it != nil && c.Free != it.Stock {
			return errNarrower
		}
	}
	return nil
}

func (p *putErrand) leave(b *batch) error {
	ctx := context.Background()
	if p.before == nil {
		if err := b.desk.gate.Load(ctx, emptySnapshot(p.after)); err != nil && !errors.Is(err, ErrStale) {
			b.desk.doubt(p.after)
			b.desk.log.Error("the gate could not take a new sale; trying again", "sale", p.after.ID, "error", err)
		}
	}
	b.desk.catalog.put(p.after)
	if p.reload() {
		if err := b.desk.rebuild(ctx, p.after.ID); err != nil {
			return unavailable(err, "the change is recorded; the gate follows as soon as it can")
		}
	}
	return nil
}

func (p *putErrand) undo(b *batch) {
	if p.before == nil || p.reload() || b.desk.node != nil {
		return // a shared gate that is ahead of the ledger is found by its version, and mended
	}
	if err := b.desk.gate.Put(context.Background(), &Put{Sale: p.before}); err != nil {
		b.desk.log.Error("the gate kept a rule that was not recorded; the auditor will mend it", "sale", p.after.ID, "error", err)
	}
}

// emptySnapshot is what the ledger has of a sale that was just made.
func emptySnapshot(s *Sale) Snapshot {
	snap := Snapshot{Sale: s, Claims: func(func(Claim, error) bool) {}}
	for _, it := range s.Items {
		snap.Stock = append(snap.Stock, Stock{Item: it.ID, Total: it.Stock})
	}
	return snap
}

// restockErrand adds units, or takes free ones back.
type restockErrand struct {
	sale  string
	item  string
	add   int64
	after *Sale // with the new total
}

func (r *restockErrand) on() string  { return r.sale }
func (r *restockErrand) alone() bool { return false }

func (r *restockErrand) enter(b *batch) error {
	if b.desk.node == nil {
		b.desk.catalog.sameEpoch(r.after)
	}
	if r.add < 0 {
		enough, err := b.desk.gate.Restock(context.Background(), r.step(r.add))
		if err != nil {
			return unavailable(err, "the gate cannot be reached; nothing was changed")
		}
		if !enough {
			return &Error{Code: NotEnoughFree, Message: "fewer units are free than are to be taken back"}
		}
	}
	b.write.Steps = append(b.write.Steps, r.step(r.add))
	return nil
}

func (r *restockErrand) step(add int64) *Restock {
	return &Restock{Sale: r.sale, Item: r.item, Add: add, Epoch: r.after.Epoch}
}

func (r *restockErrand) leave(b *batch) error {
	if n := b.desk.node; n == nil || n.lookWithin(recordTimeout) != nil {
		b.desk.catalog.put(r.after) // beside other nodes, its total may be an older one by now
	}
	if r.add > 0 {
		r.give(b, r.add)
	}
	return nil
}

func (r *restockErrand) undo(b *batch) {
	if r.add < 0 {
		r.give(b, -r.add)
	}
}

func (r *restockErrand) give(b *batch, n int64) {
	if _, err := b.desk.gate.Restock(context.Background(), r.step(n)); err != nil {
		if b.desk.node != nil {
			b.desk.doubt(r.after)
		}
		b.desk.log.Error("the gate missed units; the auditor will mend it", "sale", r.sale, "item", r.item, "units", n, "error", err)
	}
}
