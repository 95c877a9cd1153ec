package rushgate_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"rushgate"
)

// TestServiceAgreesWithTheModel runs random histories (claims, confirmations,
// releases, expiries, restocks, freezes, changes of the window, restarts)
// through the whole service on real parts, and holds every answer against the
// plain model.
func TestServiceAgreesWithTheModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp(t.TempDir(), "")
		if err != nil {
			rt.Fatal(err)
		}
		h := &history{world: &world{dir: dir, clock: newClock()}}
		if err := h.open(); err != nil {
			rt.Fatal(err)
		}
		defer func() { h.close() }()
		h.begin(rt)
		rt.Repeat(rapid.StateMachineActions(h))
	})
}

// history drives a world and its model side by side.
type history struct {
	*world
	model  *rushgate.Model
	claims map[rushgate.ID]*rushgate.Claim // as they must be
	ids    []rushgate.ID
}

var items = []string{"black", "white"}

func (h *history) begin(t *rapid.T) {
	sale := rushgate.Sale{ID: "phones", PerUser: rapid.SampledFrom([]int64{0, 1, 1, 2, 5}).Draw(t, "per_user"),
		Hold: rapid.SampledFrom([]time.Duration{0, time.Minute, time.Hour}).Draw(t, "hold")}
	for _, id := range items {
		sale.Items = append(sale.Items, rushgate.Item{ID: id, Stock: rapid.Int64Range(0, 6).Draw(t, "stock")})
	}
	view, err := h.shop.CreateSale(ctx, sale)
	if err != nil {
		t.Fatal(err)
	}
	h.model = rushgate.NewModel(view.Sale)
	h.claims = map[rushgate.ID]*rushgate.Claim{}
}

func (h *history) Claim(t *rapid.T) {
	r, ask := h.wish(t)
	got, err := h.shop.Claim(ctx, r)
	if err == nil && !got.Replayed {
		ask.ID = got.Claim.ID
	}
	h.expect(t, ask, got, err)
}

// wish draws what somebody may want, as a request and as the gate's ask.
func (h *history) wish(t *rapid.T) (rushgate.ClaimRequest, rushgate.Ask) {
	r := rushgate.ClaimRequest{Sale: "phones", Item: rapid.SampledFrom(items).Draw(t, "item"),
		User:     rapid.SampledFrom([]string{"ann", "bob", "cem", "dua", "王伟"}).Draw(t, "user"),
		Quantity: rapid.SampledFrom([]int64{0, 1, 1, 1, 2, 3}).Draw(t, "quantity"),
		Key:      rapid.SampledFrom([]string{"", "", "k1", "k2", "k3"}).Draw(t, "key")}
	return r, rushgate.Ask{Sale: r.Sale, Item: r.Item, User: r.User, Quantity: max(r.Quantity, 1), Key: r.Key}
}

// expect holds one answer against the model's.
func (h *history) expect(t *rapid.T, ask rushgate.Ask, got rushgate.Receipt, err error) {
	want := h.model.Claim(h.clock.Now(), ask)
	switch want.Code {
	case rushgate.Granted:
		if err != nil {
			t.Fatalf("%+v: %v, want a grant", ask, err)
		}
		c := got.Claim
		if c.User != ask.User || c.Item != ask.Item || c.Quantity != ask.Quantity || c.Slot != want.Slot || h.claims[c.ID] != nil {
			t.Fatalf("%+v: granted %+v, want slot %d and a new id", ask, c, want.Slot)
		}
		h.claims[c.ID] = &c
		h.ids = append(h.ids, c.ID)
	case rushgate.Replayed:
		prior := h.claims[want.Prior]
		if !ask.Matches(prior) {
			if rushgate.CodeOf(err) != rushgate.KeyReused {
				t.Fatalf("%+v: %v, want key_reused", ask, err)
			}
		} else if err != nil || !got.Replayed || got.Claim.ID != want.Prior || got.Claim.State != prior.State {
			t.Fatalf("%+v: %+v %v, want the claim %+v again", ask, got, err, prior)
		}
	default:
		if rushgate.CodeOf(err) != want.Code {
			t.Fatalf("%+v: %v, want %s", ask, err, want.Code)
		}
		var e *rushgate.Error
		if errors.As(err, &e); want.Code == rushgate.LimitReached && !slices.Equal(e.Claims, want.Has) {
			t.Fatalf("%+v: claims %v, want %v", ask, e.Claims, want.Has)
		}
	}
}

func (h *history) Confirm(t *rapid.T) { h.move(t, rushgate.Confirmed, h.shop.Confirm) }
func (h *history) Release(t *rapid.T) { h.move(t, rushgate.Released, h.shop.Release) }

func (h *history) move(t *rapid.T, to rushgate.State, do func(context.Context, rushgate.ID) (rushgate.Claim, error)) {
	if len(h.ids) == 0 {
		t.Skip("nothing to move")
	}
	want := h.claims[h.ids[rapid.IntRange(0, len(h.ids)-1).Draw(t, "which")]]
	got, err := do(ctx, want.ID)
	if want.State == rushgate.Held {
		if !want.ExpiresAt.After(h.clock.Now()) {
			h.end(want, rushgate.ExpiredState)
		} else {
			h.end(want, to)
		}
	}
	if want.State == to {
		if err != nil || got.State != to || got.ID != want.ID {
			t.Fatalf("%s of %+v: %+v, %v", to, want, got, err)
		}
		return
	}
	var e *rushgate.Error
	if !errors.As(err, &e) || e.Code != rushgate.WrongState || e.Claim == nil || e.Claim.State != want.State {
		t.Fatalf("%s of %+v: %+v, %v, want wrong_state", to, want, got, err)
	}
}

func (h *history) end(c *rushgate.Claim, to rushgate.State) {
	c.State = to
	if !to.Active() {
		h.model.Return(c.ID)
	}
}

// TimePasses; and now and then somebody sets the clock back, or far ahead.
func (h *history) TimePasses(t *rapid.T) {
	h.clock.Add(time.Duration(rapid.IntRange(0, 45).Draw(t, "minutes")) * time.Minute)
}

func (h *history) ClockSteps(t *rapid.T) {
	h.clock.Add(time.Duration(rapid.IntRange(-300, 300).Draw(t, "minutes")) * time.Minute)
}

func (h *history) Sweep(t *rapid.T) {
	n, err := h.shop.Sweep(ctx)
	if err != nil {
		t.Fatal(err)
	}
	due := 0
	for _, c := range h.claims {
		if c.State == rushgate.Held && !c.ExpiresAt.After(h.clock.Now()) {
			h.end(c, rushgate.ExpiredState)
			due++
		}
	}
	if n != due {
		t.Fatalf("swept %d, want %d", n, due)
	}
}

func (h *history) Restock(t *rapid.T) {
	item := rapid.SampledFrom(items).Draw(t, "item")
	add := rapid.SampledFrom([]int64{-3, -1, 1, 2, 5}).Draw(t, "add")
	_, err := h.shop.Restock(ctx, "phones", item, add)
	want := rushgate.Code("")
	switch {
	case h.model.Sale.Ended:
		want = rushgate.WrongState
	case h.model.Free[item]+add < 0:
		want = rushgate.NotEnoughFree
	default:
		h.model.Free[item] += add
		h.model.Sale.Item(item).Stock += add
	}
	if rushgate.CodeOf(err) != want {
		t.Fatalf("restock %s %+d: %v, want %q", item, add, err, want)
	}
}

func (h *history) Operate(t *rapid.T) {
	type change struct {
		do   func(context.Context, string) (*rushgate.SaleView, error)
		mark func(*rushgate.Sale)
	}
	changes := map[string]change{
		"freeze": {h.shop.Freeze, func(s *rushgate.Sale) { s.Frozen = true }},
		"resume": {h.shop.Resume, func(s *rushgate.Sale) { s.Frozen = false }},
		"close":  {h.shop.CloseSale, func(s *rushgate.Sale) { s.Ended = true }},
	}
	name := rapid.SampledFrom([]string{"freeze", "freeze", "resume", "resume", "resume", "resume", "close"}).Draw(t, "what")
	if name == "close" && rapid.IntRange(0, 3).Draw(t, "really") > 0 {
		name = "resume"
	}
	_, err := changes[name].do(ctx, "phones")
	if h.model.Sale.Ended && name != "close" {
		if rushgate.CodeOf(err) != rushgate.WrongState {
			t.Fatalf("%s of a closed sale: %v", name, err)
		}
		return
	}
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	changes[name].mark(&h.model.Sale)
}

func (h *history) ChangeWindow(t *rapid.T) {
	if h.model.Sale.Ended {
		t.Skip("closed for good")
	}
	opens := h.clock.Now().Add(time.Duration(rapid.IntRange(-30, 10).Draw(t, "opens")) * time.Minute)
	closes := opens.Add(time.Duration(rapid.IntRange(1, 120).Draw(t, "open for")) * time.Minute)
	if _, err := h.shop.ChangeSale(ctx, "phones", rushgate.SaleChange{OpensAt: &opens, ClosesAt: &closes}); err != nil {
		t.Fatal(err)
	}
	h.model.Sale.OpensAt, h.model.Sale.ClosesAt = opens, closes
}

// ChangeLimit may widen the limit at any time, and narrow it while nobody has
// anything.
func (h *history) ChangeLimit(t *rapid.T) {
	if h.model.Sale.Ended {
		t.Skip("closed for good")
	}
	now, then := h.model.Sale.PerUser, rapid.SampledFrom([]int64{0, 1, 2, 5}).Draw(t, "per_user")
	narrower := then != 0 && (now == 0 || then < now)
	want := rushgate.Code("")
	if narrower && len(h.model.Claims) > 0 {
		want = rushgate.WrongState
	} else {
		h.model.Sale.PerUser = then
	}
	if err := h.limit(then); rushgate.CodeOf(err) != want {
		t.Fatalf("limit from %d to %d: %v, want %q", now, then, err, want)
	}
}

// ClaimBatch claims for several users at once.
func (h *history) ClaimBatch(t *rapid.T) {
	var asks []rushgate.Ask
	var requests []rushgate.ClaimRequest
	for range rapid.IntRange(1, 6).Draw(t, "size") {
		r, ask := h.wish(t)
		requests, asks = append(requests, r), append(asks, ask)
	}
	results, err := h.shop.ClaimBatch(ctx, requests)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range results {
		if r.Err == nil && !r.Replayed {
			asks[i].ID = r.Claim.ID
		}
		h.expect(t, asks[i], r.Receipt, r.Err)
	}
}

func (h *history) Restart(t *rapid.T) {
	if err := h.close(); err != nil {
		t.Fatal(err)
	}
	if err := h.open(); err != nil {
		t.Fatal(err)
	}
}

// Check holds the whole state against the model after every action.
func (h *history) Check(t *rapid.T) {
	views, _, err := h.shop.Stock(ctx, "phones")
	if err != nil {
		t.Fatal(err)
	}
	var free int64
	for _, v := range views {
		free += v.Free
		if v.Free != h.model.Free[v.Item] || v.Unsettled != 0 || v.Total != v.Free+v.Held+v.Confirmed ||
			v.Total != h.model.Sale.Item(v.Item).Stock {
			t.Fatalf("stock %+v, want free %d of %d", v, h.model.Free[v.Item], h.model.Sale.Item(v.Item).Stock)
		}
	}
	sale, err := h.shop.Sale(ctx, "phones")
	if err != nil || sale.State != h.model.Sale.State(h.clock.Now(), free) {
		t.Fatalf("sale %+v, %v, want %s", sale, err, h.model.Sale.State(h.clock.Now(), free))
	}
	listed, err := h.shop.Claims(ctx, rushgate.ClaimQuery{Sale: "phones", Limit: 1000})
	if err != nil || len(listed) != len(h.claims) {
		t.Fatalf("%d claims listed, %v, want %d", len(listed), err, len(h.claims))
	}
	for _, c := range listed {
		if want := h.claims[c.ID]; want == nil || c.State != want.State {
			t.Fatalf("claim %+v, want %+v", c, want)
		}
	}
	r, err := h.shop.Audit(ctx, "phones")
	if err != nil || r.Healed != 0 {
		t.Fatalf("audit: %+v, %v", r, err)
	}
	for _, c := range r.Failed() {
		if c.Name != "swept" { // time passes here without a sweeper
			t.Fatal(fmt.Sprintf("audit: %s: %s", c.Name, c.Detail))
		}
	}
}
