package rushgate

import (
	"context"
	"errors"
	"time"
)

// batch is one trip of the desk: the tickets it took, what the gate decided,
// and what the ledger writes. The desk uses one again and again.
type batch struct {
	desk    *desk
	tickets []*ticket
	at      time.Time

	asks      []Ask
	decisions []Decision
	began     time.Time // before the gate was asked, by the service's clock
	stats     BatchStats
	early     map[ID]bool // claims that were acknowledged before they are recorded

	write Batch
	run   int // write.Steps from here on belong to the current run of claims
	moved map[ID]*Claim

	spare []Claim // memory of an earlier grant, for the next one
}

func (b *batch) reset() {
	for _, s := range b.write.Steps {
		if g, ok := s.(*Grant); ok && cap(g.Claims) > cap(b.spare) {
			b.spare = g.Claims[:0]
		}
	}
	clear(b.tickets)
	clear(b.write.Steps)
	*b = batch{desk: b.desk, tickets: b.tickets[:0], asks: b.asks[:0], decisions: b.decisions[:0],
		write: Batch{Steps: b.write.Steps[:0]}, spare: b.spare}
}

// decide asks the gate about all claims, in order, and lets errands do what
// must come before the ledger. An errand between claims divides them: those
// before it are decided before it.
func (b *batch) decide() {
	began := time.Now()
	b.stats.Tickets = len(b.tickets)
	b.began = b.desk.now()
	b.at = b.began.Truncate(time.Millisecond) // as exact as a ledger keeps it
	from := 0
	for i, t := range b.tickets {
		if t.errand == nil {
			continue
		}
		b.decideClaims(b.tickets[from:i])
		from = i + 1
		t.err = t.errand.enter(b)
		b.run = len(b.write.Steps)
	}
	b.decideClaims(b.tickets[from:])
	b.stats.Asks, b.stats.Deciding = len(b.asks), time.Since(began)
}

// decideClaims is one call of the gate for a run of claim tickets.
func (b *batch) decideClaims(tickets []*ticket) {
	first := len(b.asks)
	for _, t := range tickets {
		for i := range t.asks {
			t.asks[i].ID = b.desk.ids.next()
		}
		b.asks = append(b.asks, t.asks...)
	}
	asks := b.asks[first:]
	if len(asks) == 0 {
		return
	}
	for range asks {
		b.decisions = append(b.decisions, Decision{})
	}
	decisions := b.decisions[first:]
	err := b.desk.gate.Claim(context.Background(), b.at, asks, decisions)
	if err == nil && b.desk.node != nil {
		b.desk.node.heed(asks, decisions)
	}
	n := 0
	for _, t := range tickets {
		for i := range t.asks {
			if err != nil {
				t.answers[i].Err = unavailable(err, "the gate cannot be reached; "+b.desk.ungranted())
			} else {
				b.take(&t.asks[i], &decisions[n], &t.answers[i])
			}
			n++
		}
	}
	b.run = len(b.write.Steps)
}

// take turns one decision into an answer, and a grant into a row to record.
func (b *batch) take(a *Ask, d *Decision, answer *Result) {
	*answer = Result{}
	switch d.Code {
	case Granted:
		answer.Claim = b.grant(a, d)
	case Replayed:
		answer.Claim.ID, answer.Replayed = d.Prior, true
	case Unavailable:
		answer.Err = unavailable(nil, "the gate did not answer for this sale; "+b.desk.ungranted())
	case Overloaded:
		answer.Err = errOverloaded
	case LimitReached:
		answer.Err = limitReached(b.desk.catalog.sale(a.Sale), d.Has)
	default:
		if sale := b.desk.catalog.sale(a.Sale); sale != nil {
			answer.Err = refusal(d.Code, sale)
		} else {
			answer.Err = unknownSale(a.Sale)
		}
	}
}

// grant makes the claim and puts it into the step of its sale.
func (b *batch) grant(a *Ask, d *Decision) Claim {
	sale := b.desk.catalog.sale(a.Sale)
	at, epoch := b.at, sale.Epoch
	if !d.At.IsZero() { // a gate that several nodes share has its own clock, and knows its epoch
		at, epoch = d.At, d.Epoch
	}
	c := Claim{ID: a.ID, Sale: a.Sale, Item: a.Item, User: a.User, Quantity: a.Quantity,
		Slot: d.Slot, State: Held, Key: a.Key, CreatedAt: at}
	if sale.Hold > 0 {
		c.ExpiresAt = at.Add(sale.Hold)
	} else {
		c.State, c.EndedAt = Confirmed, at
	}
	b.stats.Granted++
	if d.Early {
		if b.early == nil {
			b.early = map[ID]bool{}
		}
		b.early[c.ID] = true
	}
	for _, s := range b.write.Steps[b.run:] {
		if g := s.(*Grant); g.Sale == a.Sale && g.Epoch == epoch {
			g.Claims = append(g.Claims, c)
			return c
		}
	}
	g := &Grant{Sale: sale.ID, Epoch: epoch, PerUser: sale.PerUser, Claims: append(b.spare, c)}
	b.spare = nil
	b.write.Steps = append(b.write.Steps, g)
	return c
}

// moveStep returns the step that takes claims of a sale to a state: the last
// one, if it is of that kind, so that a rush of confirmations is one statement.
func (b *batch) moveStep(sale string, to State) *Move {
	if n := len(b.write.Steps); n > 0 {
		if m, ok := b.write.Steps[n-1].(*Move); ok && m.Sale == sale && m.To == to {
			return m
		}
	}
	m := &Move{Sale: sale, To: to}
	b.write.Steps = append(b.write.Steps, m)
	return m
}

// conclude tells the gate how it ended, and lets errands do what must come
// after the ledger.
func (b *batch) conclude(err error) {
	if err != nil {
		b.desk.log.Error("a batch could not be recorded", "error", err)
		b.promise()
		if b.desk.node == nil || !errors.Is(err, ErrUnknown) {
			b.undo()
		}
		b.unrecorded(err)
		return
	}
	ctx := context.Background()
	for _, s := range b.write.Steps {
		var gateErr error
		switch s := s.(type) {
		case *Grant:
			if b.desk.node == nil {
				gateErr = b.desk.gate.Settle(ctx, s.Claims)
			}
		case *Move:
			b.remember(s.Moved)
			if !s.To.Active() && len(s.Moved) > 0 {
				gateErr = b.desk.gate.Return(ctx, s.Moved)
			}
		}
		if gateErr != nil {
			b.desk.log.Error("the gate missed what was recorded; the auditor will mend it", "sale", s.On(), "error", gateErr)
		}
	}
	for _, t := range b.tickets {
		if t.errand != nil && t.err == nil {
			t.err = t.errand.leave(b)
		}
	}
	for _, s := range b.write.Steps {
		b.desk.watch.tell(s.On())
	}
}

// settle takes what was recorded out of a shared gate's journal. Nobody waits for
// it: if it fails, an adopter finds the claims recorded, and does it.
func (b *batch) settle() {
	for _, s := range b.write.Steps {
		if g, ok := s.(*Grant); ok && len(g.Claims) > 0 {
			if err := b.desk.gate.Settle(context.Background(), g.Claims); err != nil {
				b.desk.log.Warn("the journal could not be cleared; an adopter will", "sale", g.Sale, "error", err)
			}
		}
	}
}

// remember keeps the claims that moved, for the errands that moved them.
func (b *batch) remember(moved []Claim) {
	if b.moved == nil {
		b.moved = make(map[ID]*Claim, len(moved))
	}
	for i := range moved {
		b.moved[moved[i].ID] = &moved[i]
	}
}

// undo makes the gate forget what it granted in this batch, and errands undo
// what they did to it.
func (b *batch) undo() {
	ctx := context.Background()
	for i := len(b.write.Steps) - 1; i >= 0; i-- {
		if g, ok := b.write.Steps[i].(*Grant); ok {
			if err := b.desk.gate.Forget(ctx, b.forgettable(g.Claims)); err != nil {
				b.desk.log.Error("the gate could not take grants back; the auditor will mend it", "sale", g.Sale, "error", err)
			}
		}
	}
	for i := len(b.tickets) - 1; i >= 0; i-- {
		if t := b.tickets[i]; t.errand != nil && t.err == nil {
			t.errand.undo(b)
		}
	}
}

// forgettable are the claims that nobody will miss: not those that were
// acknowledged early, and none that somebody else may have recorded meanwhile.
// These stay in the journal, and are adopted.
func (b *batch) forgettable(claims []Claim) []Claim {
	if b.desk.node == nil {
		return claims
	}
	if b.desk.node.late(b.began) {
		return nil
	}
	mine, _ := b.divide(claims)
	return mine
}

// tellEarly sends home those who need not wait until their claims are recorded.
// The claims stay in the batch; the ticket belongs to its caller again.
func (b *batch) tellEarly() {
	if len(b.early) == 0 {
		return
	}
	kept := b.tickets[:0]
	for _, t := range b.tickets {
		if t.errand == nil && b.allEarly(t) {
			b.send(t)
		} else {
			kept = append(kept, t)
		}
	}
	clear(b.tickets[len(kept):])
	b.tickets = kept
	b.keepEarly()
}

func (b *batch) allEarly(t *ticket) bool {
	for i := range t.answers {
		if r := &t.answers[i]; r.Err == nil && !r.Replayed && !b.early[r.Claim.ID] {
			return false
		}
	}
	return true
}

// keepEarly takes from early those that wait all the same, together with others
// that must.
func (b *batch) keepEarly() {
	for _, t := range b.tickets {
		for i := range t.answers {
			delete(b.early, t.answers[i].Claim.ID)
		}
	}
}

// unrecorded words what everybody is told when nothing was recorded, or when
// that is not known.
func (b *batch) unrecorded(cause error) {
	granted, changed := "it could not be recorded; "+b.desk.ungranted(), "it could not be recorded; nothing was changed"
	if errors.Is(cause, ErrUnknown) {
		granted = "it is not known whether it was recorded; the same key tells, once the server is back"
		changed = "it is not known whether it was recorded; look again once the server is back"
	}
	for _, t := range b.tickets {
		if t.errand != nil && t.err == nil {
			t.err = unavailable(cause, changed)
		}
		for i := range t.answers {
			t.answers[i] = Result{Err: unavailable(cause, granted)}
		}
	}
}

// split keeps the tickets that concern a sale, and returns a batch of the others.
func (b *batch) split(sale string) *batch {
	rest := &batch{desk: b.desk}
	kept := b.tickets[:0]
	for _, t := range b.tickets {
		if t.on(sale) {
			kept = append(kept, t)
		} else {
			rest.tickets = append(rest.tickets, t)
		}
	}
	b.tickets = kept
	return rest
}

// answer counts the outcomes and sends everybody home.
func (b *batch) answer() {
	for _, t := range b.tickets {
		b.send(t)
	}
}

func (b *batch) send(t *ticket) {
	for i := range t.answers {
		b.desk.observe.Decided(t.answers[i].outcome(), 1)
	}
	t.done <- struct{}{}
}

// outcome names the result of one claim.
func (r *Result) outcome() Code {
	switch {
	case r.Err != nil:
		return CodeOf(r.Err)
	case r.Replayed:
		return Replayed
	}
	return Granted
}
