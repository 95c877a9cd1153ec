package ledgertest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"rushgate"
)

var histories = []test{
	{"RandomBatchesAgainstTheModel", func(t *testing.T, f Factory) {
		rapid.Check(t, func(rt *rapid.T) {
			h := &history{desk: openOn(rt, t, f.New(t), nil), rt: rt, model: newModel(), now: start}
			defer h.end()
			rt.Repeat(map[string]func(*rapid.T){
				"record":       h.recordAny,
				"record more":  h.recordAny,
				"record again": h.recordAny,
				"fence":        h.fence,
				"look":         func(*rapid.T) { h.model.agrees(h.desk, h.now) },
				"reopen":       func(*rapid.T) { h.reopen(); h.model.agrees(h.desk, h.now) },
			})
			h.model.agrees(h.desk, h.now)
		})
	}},
}

// history is one random story.
type history struct {
	*desk
	rt    *rapid.T
	model *model
	now   time.Time
}

func (h *history) recordAny(rt *rapid.T) {
	h.now = h.now.Add(time.Duration(rapid.IntRange(0, 5).Draw(rt, "seconds")) * time.Second)
	b := h.batch(h.now)
	plan := h.model // as the steps before leave it, so that most batches are good
	for range rapid.IntRange(1, 3).Draw(rt, "steps") {
		step := h.step(rt, plan)
		b.Steps = append(b.Steps, step)
		plan, _ = plan.apply(&rushgate.Batch{At: h.now, Steps: []rushgate.Step{step}})
	}
	next, broken := h.model.apply(b)
	err := h.Record(context.Background(), b)
	if len(broken) == 0 && err != nil {
		rt.Fatalf("record: %v", err)
	}
	if len(broken) > 0 {
		var barrier *rushgate.BarrierError
		if !errors.As(err, &barrier) || !slices.Contains(broken, barrier.Barrier) {
			rt.Fatalf("got %v, want one of the barriers %q", err, broken)
		}
	}
	if yes, err := h.Recorded(context.Background(), b); yes != (len(broken) == 0) || err != nil {
		rt.Fatalf("Recorded says %v, %v", yes, err)
	}
	h.model = next
}

func (h *history) fence(rt *rapid.T) {
	id := h.anySale(rt, h.model)
	was := rapid.Int64Range(0, 3).Draw(rt, "was")
	got, taken, err := h.Fence(context.Background(), id, was)
	s := h.model.sale(id)
	if s == nil {
		if rushgate.CodeOf(err) != rushgate.NotFound {
			rt.Fatalf("fenced a ghost: %v", err)
		}
		return
	}
	mine := was == 0 || was == s.Epoch
	if mine {
		s.Epoch++
	}
	if err != nil || taken != mine {
		rt.Fatalf("fence: taken %v, want %v; %v", taken, mine, err)
	}
	same(rt, "fenced", got, s)
}

func (h *history) anySale(rt *rapid.T, m *model) string {
	if len(m.sales) == 0 || rapid.IntRange(0, 19).Draw(rt, "ghost") == 0 {
		return "ghost"
	}
	return rapid.SampledFrom(m.sales).Draw(rt, "sale").ID
}

func (h *history) step(rt *rapid.T, m *model) rushgate.Step {
	kind := rapid.IntRange(0, 10).Draw(rt, "kind")
	if len(m.sales) == 0 || kind == 10 && len(m.sales) < 3 {
		s := sale(fmt.Sprint("sale-", len(m.sales)), rapid.Int64Range(0, 4).Draw(rt, "limit"), item("a", 6), item("b", 20))
		return &rushgate.Put{Sale: s, Kind: rushgate.SaleCreated}
	}
	id := h.anySale(rt, m)
	switch {
	case kind < 5:
		return h.anyGrant(rt, m, id)
	case kind < 7:
		return h.anyMove(rt, m, id)
	case kind < 8:
		return &rushgate.Restock{Sale: id, Item: h.anyItem(rt), Add: rapid.Int64Range(-4, 4).Draw(rt, "add"), Epoch: h.known(rt, m, id).Epoch}
	case kind < 9:
		return h.anyRevoke(rt, m, id)
	}
	return h.anyPut(rt, m, id)
}

// known is the mark of a sale that a node may have in mind: the right one, an
// older one, or none.
func (h *history) known(rt *rapid.T, m *model, id string) rushgate.Mark {
	s := m.sale(id)
	if s == nil || rapid.Bool().Draw(rt, "whatever there is") {
		return rushgate.Mark{}
	}
	return rushgate.Mark{Epoch: s.Epoch - boolInt(rapid.IntRange(0, 9).Draw(rt, "older epoch") == 0),
		Version: s.Version - boolInt(rapid.IntRange(0, 9).Draw(rt, "older version") == 0)}
}

func boolInt(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

func (h *history) anyPut(rt *rapid.T, m *model, id string) *rushgate.Put {
	s := sale(id, 0, item("a", 1))
	if had := m.sale(id); had != nil {
		s.PerUser, s.Version = had.PerUser, had.Version+rapid.Int64Range(1, 3).Draw(rt, "versions")
	}
	s.Frozen = rapid.Bool().Draw(rt, "frozen")
	mark := h.known(rt, m, id)
	return &rushgate.Put{Sale: s, Kind: rushgate.SaleChanged, Was: mark.Version, Epoch: mark.Epoch}
}

// anyRevoke revokes claims that were never recorded, and some that were.
func (h *history) anyRevoke(rt *rapid.T, m *model, id string) *rushgate.Revoke {
	r := &rushgate.Revoke{Sale: id}
	for range rapid.IntRange(0, 3).Draw(rt, "revoked") {
		c := h.anyClaim(rt, m, &rushgate.Grant{Sale: id, PerUser: 1})
		if len(r.Claims) > 0 && rapid.IntRange(0, 4).Draw(rt, "twice") == 0 {
			c = r.Claims[0]
		}
		r.Claims = append(r.Claims, c)
	}
	return r
}

func (h *history) anyItem(rt *rapid.T) string {
	if rapid.IntRange(0, 49).Draw(rt, "no item") == 0 {
		return "c"
	}
	return rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "item")
}

func (h *history) anyGrant(rt *rapid.T, m *model, id string) *rushgate.Grant {
	g := &rushgate.Grant{Sale: id, Epoch: 1}
	if s := m.sale(id); s != nil {
		g.Epoch, g.PerUser = s.Epoch, s.PerUser
	}
	if rapid.IntRange(0, 29).Draw(rt, "old epoch") == 0 {
		g.Epoch--
	}
	for range rapid.IntRange(1, 4).Draw(rt, "claims") {
		g.Claims = append(g.Claims, h.anyClaim(rt, m, g))
	}
	return g
}

// anyClaim makes a claim that a good gate would mostly grant.
func (h *history) anyClaim(rt *rapid.T, m *model, g *rushgate.Grant) rushgate.Claim {
	h.ids++
	c := rushgate.Claim{ID: h.ids, Sale: g.Sale, Item: h.anyItem(rt), Quantity: rapid.SampledFrom([]int64{1, 1, 1, 2}).Draw(rt, "units"),
		User: rapid.SampledFrom([]string{"ann", "bob", "李雷", `q"\`, "eve", "fay", "gus", "hal", "ivy", "joe"}).Draw(rt, "user"), Slot: rushgate.NoSlot,
		State: rushgate.Held, CreatedAt: h.now, ExpiresAt: h.now.Add(time.Duration(rapid.IntRange(1, 15).Draw(rt, "hold")) * time.Second)}
	if rapid.IntRange(0, 3).Draw(rt, "at once") == 0 {
		c.State, c.ExpiresAt, c.EndedAt = rushgate.Confirmed, time.Time{}, h.now
	}
	if rapid.IntRange(0, 3).Draw(rt, "keyed") == 0 {
		c.Key = fmt.Sprint("key-", rapid.IntRange(0, 300).Draw(rt, "key"))
	}
	if rapid.IntRange(0, 49).Draw(rt, "same id") == 0 && len(m.claims) > 0 {
		c.ID = h.anyID(rt)
	}
	if g.PerUser > 0 {
		c.Slot = lowestSlot(m, g, c.User)
		if rapid.IntRange(0, 29).Draw(rt, "any slot") == 0 {
			c.Slot = int32(rapid.IntRange(0, 3).Draw(rt, "slot"))
		}
	}
	return c
}

func lowestSlot(m *model, g *rushgate.Grant, user string) int32 {
	used := map[int32]bool{}
	for _, o := range m.claims {
		if o.Sale == g.Sale && o.User == user && o.State.Active() {
			used[o.Slot] = true
		}
	}
	for _, o := range g.Claims {
		if o.User == user {
			used[o.Slot] = true
		}
	}
	slot := int32(0)
	for used[slot] {
		slot++
	}
	return slot
}

// anyID is an id that was given out, or one that was not.
func (h *history) anyID(rt *rapid.T) rushgate.ID {
	return h.ids - rushgate.ID(rapid.IntRange(0, 12).Draw(rt, "back"))
}

func (h *history) anyMove(rt *rapid.T, m *model, id string) *rushgate.Move {
	mv := &rushgate.Move{Sale: id, To: rapid.SampledFrom([]rushgate.State{rushgate.Confirmed, rushgate.Released, rushgate.ExpiredState}).Draw(rt, "to")}
	held := m.heldBy(id)
	for range rapid.IntRange(1, 4).Draw(rt, "ids") {
		if len(held) > 0 && rapid.IntRange(0, 3).Draw(rt, "any") > 0 {
			mv.IDs = append(mv.IDs, rapid.SampledFrom(held).Draw(rt, "held"))
		} else {
			mv.IDs = append(mv.IDs, h.anyID(rt))
		}
	}
	return mv
}
