package ledgertest

import (
	"cmp"
	"context"
	"slices"
	"time"

	"rushgate"
)

// model is the plainest ledger there is: slices, maps and loops. It answers
// what a real one must answer, and says which barriers a batch breaks.
type model struct {
	sales  []rushgate.Sale
	stock  map[string][]rushgate.Stock
	claims map[rushgate.ID]rushgate.Claim
	events map[string][]rushgate.Event
	last   int64 // the highest id of a batch
}

func newModel() *model {
	return &model{stock: map[string][]rushgate.Stock{}, claims: map[rushgate.ID]rushgate.Claim{}, events: map[string][]rushgate.Event{}}
}

func (m *model) clone() *model {
	c := newModel()
	c.last = m.last
	for _, s := range m.sales {
		s.Items = slices.Clone(s.Items)
		c.sales = append(c.sales, s)
		c.stock[s.ID] = slices.Clone(m.stock[s.ID])
		c.events[s.ID] = slices.Clone(m.events[s.ID])
	}
	for id, claim := range m.claims {
		c.claims[id] = claim
	}
	return c
}

// apply returns the model after a batch, or the barriers that the first step
// breaks that breaks any.
func (m *model) apply(b *rushgate.Batch) (*model, []rushgate.Barrier) {
	next := m.clone()
	for _, step := range b.Steps {
		var broken []rushgate.Barrier
		switch s := step.(type) {
		case *rushgate.Grant:
			broken = next.grant(b.At, s)
		case *rushgate.Move:
			next.move(b.At, s)
		case *rushgate.Revoke:
			broken = next.revoke(b.At, s)
		case *rushgate.Put:
			broken = next.put(b.At, s)
		case *rushgate.Restock:
			broken = next.restock(b.At, s)
		}
		if len(broken) > 0 {
			return m, broken
		}
	}
	next.last = max(next.last, b.ID)
	return next, nil
}

func (m *model) sale(id string) *rushgate.Sale {
	for i := range m.sales {
		if m.sales[i].ID == id {
			return &m.sales[i]
		}
	}
	return nil
}

func (m *model) row(sale, item string) *rushgate.Stock {
	for i := range m.stock[sale] {
		if m.stock[sale][i].Item == item {
			return &m.stock[sale][i]
		}
	}
	return nil
}

func (m *model) tell(sale string, at time.Time, e rushgate.Event) {
	e.Sale, e.Seq, e.At = sale, int64(len(m.events[sale])+1), at
	m.events[sale] = append(m.events[sale], e)
}

func (m *model) grant(at time.Time, g *rushgate.Grant) (broken []rushgate.Barrier) {
	if len(g.Claims) == 0 {
		return nil
	}
	s := m.sale(g.Sale)
	if s == nil {
		return []rushgate.Barrier{rushgate.BarrierExists}
	}
	if g.Epoch != s.Epoch {
		broken = append(broken, rushgate.BarrierEpoch)
	}
	for _, c := range g.Claims {
		broken = append(broken, m.arrive(g.PerUser, c)...)
		told := c
		told.Slot = rushgate.NoSlot
		m.tell(g.Sale, at, rushgate.Event{Kind: rushgate.EventOf(c.State), Claim: &told})
	}
	return broken
}

// arrive adds one claim, and says what it breaks.
func (m *model) arrive(limit int64, c rushgate.Claim) (broken []rushgate.Barrier) {
	if row := m.row(c.Sale, c.Item); row == nil {
		broken = append(broken, rushgate.BarrierExists)
	} else {
		row.Taken += c.Quantity
		if c.State == rushgate.Confirmed {
			row.Confirmed += c.Quantity
		}
		if row.Taken > row.Total {
			broken = append(broken, rushgate.BarrierStock)
		}
	}
	has := c.Quantity
	for _, o := range m.claims {
		if o.ID == c.ID || o.Sale == c.Sale && o.Key == c.Key && c.Key != "" {
			broken = append(broken, rushgate.BarrierID)
		}
		if o.Sale == c.Sale && o.User == c.User && o.State.Active() {
			has += o.Quantity
			if limit > 0 && o.Slot == c.Slot {
				broken = append(broken, rushgate.BarrierSlot)
			}
		}
	}
	if limit > 0 && (has > limit || int64(c.Slot) >= limit) {
		broken = append(broken, rushgate.BarrierLimit)
	}
	m.claims[c.ID] = c
	return broken
}

func (m *model) move(at time.Time, mv *rushgate.Move) {
	var moved []rushgate.Claim
	for _, id := range mv.IDs {
		c, ok := m.claims[id]
		due := !c.ExpiresAt.After(at)
		if !ok || c.Sale != mv.Sale || c.State != rushgate.Held || due != (mv.To == rushgate.ExpiredState) {
			continue
		}
		c.State, c.EndedAt = mv.To, at
		row := m.row(c.Sale, c.Item)
		if mv.To == rushgate.Confirmed {
			row.Confirmed += c.Quantity
		} else {
			row.Taken -= c.Quantity
			c.Slot = rushgate.NoSlot
		}
		m.claims[id] = c
		moved = append(moved, c)
	}
	byID(moved)
	for _, c := range moved {
		c.Slot = rushgate.NoSlot
		m.tell(mv.Sale, at, rushgate.Event{Kind: rushgate.EventOf(mv.To), Claim: &c})
	}
}

func (m *model) revoke(at time.Time, r *rushgate.Revoke) []rushgate.Barrier {
	for _, c := range r.Claims {
		if _, there := m.claims[c.ID]; there {
			continue
		}
		if m.sale(r.Sale) == nil {
			return []rushgate.Barrier{rushgate.BarrierExists}
		}
		c.Sale, c.Slot, c.State, c.Key, c.EndedAt = r.Sale, rushgate.NoSlot, rushgate.Revoked, "", at
		m.claims[c.ID] = c
		m.tell(r.Sale, at, rushgate.Event{Kind: rushgate.ClaimRevoked, Claim: &c})
	}
	return nil
}

// otherState says whether a change was made from another state than the sale has.
func otherState(s *rushgate.Sale, version, epoch int64) []rushgate.Barrier {
	switch {
	case epoch != 0 && epoch != s.Epoch:
		return []rushgate.Barrier{rushgate.BarrierEpoch}
	case version != 0 && version != s.Version:
		return []rushgate.Barrier{rushgate.BarrierVersion}
	}
	return nil
}

func (m *model) put(at time.Time, p *rushgate.Put) []rushgate.Barrier {
	s := m.sale(p.Sale.ID)
	if (s == nil) != (p.Kind == rushgate.SaleCreated) {
		return []rushgate.Barrier{rushgate.BarrierExists}
	}
	next := *p.Sale
	next.Items = slices.Clone(next.Items)
	if s == nil {
		for _, it := range next.Items {
			m.stock[next.ID] = append(m.stock[next.ID], rushgate.Stock{Item: it.ID, Total: it.Stock})
		}
		m.sales = append(m.sales, next)
	} else if broken := otherState(s, p.Was, p.Epoch); broken != nil {
		return broken
	} else {
		next.Items, next.Epoch, next.Shards, next.CreatedAt = s.Items, s.Epoch, s.Shards, s.CreatedAt
		*s = next
	}
	next.Items = slices.Clone(next.Items)
	for i := range next.Items {
		next.Items[i].Stock = 0
	}
	m.tell(next.ID, at, rushgate.Event{Kind: p.Kind, State: &next})
	return nil
}

func (m *model) restock(at time.Time, r *rushgate.Restock) []rushgate.Barrier {
	row := m.row(r.Sale, r.Item)
	var broken []rushgate.Barrier
	if s := m.sale(r.Sale); s != nil {
		broken = otherState(s, 0, r.Epoch)
	}
	if row == nil {
		broken = append(broken, rushgate.BarrierExists)
	}
	if broken != nil {
		return broken
	}
	if row.Total += r.Add; row.Total < row.Taken || row.Total > rushgate.MaxStock {
		return []rushgate.Barrier{rushgate.BarrierStock}
	}
	m.sale(r.Sale).Item(r.Item).Stock = row.Total
	m.tell(r.Sale, at, rushgate.Event{Kind: rushgate.ItemRestocked, Item: r.Item, Add: r.Add})
	return nil
}

// everything is what a ledger of this state must answer.
func (m *model) everything() everything {
	e := everything{LastID: rushgate.ID(m.last), Sales: slices.Clone(m.sales), Stock: map[string][]rushgate.Stock{},
		Claims: map[string][]rushgate.Claim{}, Events: map[string][]rushgate.Event{}}
	for _, s := range m.sales {
		e.Stock[s.ID], e.Events[s.ID] = m.stock[s.ID], m.events[s.ID]
		e.Claims[s.ID] = nil
	}
	for id, c := range m.claims {
		e.Claims[c.Sale] = append(e.Claims[c.Sale], c)
		e.LastID = max(e.LastID, id)
	}
	for _, list := range e.Claims {
		byID(list)
	}
	return e
}

// heldBy lists the held claims of a sale.
func (m *model) heldBy(sale string) []rushgate.ID {
	var list []rushgate.ID
	for id, c := range m.claims {
		if c.Sale == sale && c.State == rushgate.Held {
			list = append(list, id)
		}
	}
	slices.Sort(list)
	return list
}

// expired is what Expired must answer.
func (m *model) expired(now time.Time) []rushgate.Claim {
	var list []rushgate.Claim
	for _, c := range m.claims {
		if c.State == rushgate.Held && !c.ExpiresAt.After(now) {
			list = append(list, c)
		}
	}
	byID(list)
	slices.SortStableFunc(list, func(a, b rushgate.Claim) int { return a.ExpiresAt.Compare(b.ExpiresAt) })
	return list
}

func byID(list []rushgate.Claim) {
	slices.SortFunc(list, func(a, b rushgate.Claim) int { return cmp.Compare(a.ID, b.ID) })
}

// agrees fails when the ledger is not what the model is.
func (m *model) agrees(d *desk, now time.Time) {
	d.t.Helper()
	ctx := context.Background()
	got := d.everything()
	want := m.everything()
	for _, all := range []everything{got, want} { // two moves of a batch may look like one
		for _, list := range all.Events {
			moveOrder(list)
		}
	}
	same(d.t, "the ledger is not what its model is", got, want)
	due, err := d.Expired(ctx, now, plenty)
	if err != nil {
		d.t.Fatalf("expired: %v", err)
	}
	same(d.t, "expired", due, m.expired(now))
	for _, s := range m.sales {
		m.agreesOn(d, &s)
	}
}

// moveOrder brings the events of one move, which may come in any order, in
// the order of the model: by id. Their numbers stay where they are.
func moveOrder(list []rushgate.Event) {
	for i := 0; i < len(list); {
		n := 1
		for i+n < len(list) && sameMove(&list[i], &list[i+n]) {
			n++
		}
		claims := make([]rushgate.Claim, 0, n)
		for _, e := range list[i : i+n] {
			if e.Claim != nil {
				claims = append(claims, *e.Claim)
			}
		}
		byID(claims)
		for j := range claims {
			list[i+j].Claim = &claims[j]
		}
		i += n
	}
}

func sameMove(a, b *rushgate.Event) bool {
	return a.Claim != nil && b.Claim != nil && a.Kind == b.Kind && a.Kind != rushgate.ClaimHeld && a.Kind != rushgate.ClaimRevoked && a.At.Equal(b.At) &&
		!a.Claim.ExpiresAt.IsZero() && !b.Claim.ExpiresAt.IsZero()
}

// agreesOn compares the snapshot and the tally of one sale.
func (m *model) agreesOn(d *desk, s *rushgate.Sale) {
	d.t.Helper()
	snap, claims := d.snapshot(s.ID)
	same(d.t, "snapshot stock", snap.Stock, m.stock[s.ID])
	var want []rushgate.Claim
	byState, byKind, users := map[rushgate.State]int64{}, map[rushgate.EventKind]int64{}, map[string]bool{}
	for _, c := range m.claims {
		if c.Sale != s.ID {
			continue
		}
		byState[c.State]++
		if c.State.Active() {
			users[c.User] = true
		}
		if c.State.Active() || c.Key != "" {
			want = append(want, rushgate.Claim{ID: c.ID, Item: c.Item, User: c.User, Quantity: c.Quantity, Slot: c.Slot, State: c.State, Key: c.Key})
		}
	}
	byID(want)
	byID(claims)
	same(d.t, "snapshot claims", claims, want)
	for _, e := range m.events[s.ID] {
		byKind[e.Kind]++
	}
	mark := rushgate.Mark{Epoch: s.Epoch, Version: s.Version, Seq: int64(len(m.events[s.ID]))}
	if snap.Seq != mark.Seq {
		d.t.Fatalf("the snapshot is of event %d, want %d", snap.Seq, mark.Seq)
	}
	marks, err := d.Marks(context.Background())
	if err != nil || marks[s.ID] != mark || len(marks) != len(m.sales) {
		d.t.Fatalf("marks %+v, %v; want %+v among %d", marks, err, mark, len(m.sales))
	}
	one, err := d.Sale(context.Background(), s.ID)
	if err != nil {
		d.t.Fatalf("sale: %v", err)
	}
	same(d.t, "sale", one, s)
	y := d.sound(s.ID)
	same(d.t, "claims by state", y.Claims, byState)
	same(d.t, "events by kind", y.Events, byKind)
	if y.Users != int64(len(users)) || y.LastSeq != int64(len(m.events[s.ID])) {
		d.t.Fatalf("tally %+v: want %d users, %d events", y, len(users), len(m.events[s.ID]))
	}
}
