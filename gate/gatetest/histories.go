package gatetest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"rushgate"
)

// histories plays random histories on a gate and on one rushgate.Model per
// sale, and expects the same decisions and counts all along.
func histories(t *testing.T, f Factory) {
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		if n++; f.Shards > 1 && n > historiesInShards {
			return // each takes many exchanges, and the rest of the suite knows shards too
		}
		s := &stage{t: rt, ctx: t.Context(), f: f, gate: f.New(t), now: f.start(), last: 1000, epochs: map[string]int64{}}
		defer s.gate.Close()
		h := &history{stage: s, sales: map[string]*record{}}
		h.create(rt, "none", 0)
		h.create(rt, "one", 1)
		h.create(rt, "many", rapid.Int64Range(2, 6).Draw(rt, "limit"))
		rt.Repeat(map[string]func(*rapid.T){
			"claim":   h.claimSome,
			"settle":  h.settleSome,
			"return":  h.returnSome,
			"forget":  h.forgetSome,
			"restock": h.restockOne,
			"rules":   h.changeRules,
			"wait":    h.wait,
			"reload":  h.reload,
			"":        h.check,
		})
	})
}

// historiesInShards is how many histories a sale in several shards plays.
const historiesInShards = 10

// history is a gate with the models of its sales.
type history struct {
	*stage
	sales map[string]*record
	made  []rushgate.Claim // every claim ever granted
}

// record is what one sale should be.
type record struct {
	model     *rushgate.Model
	unsettled map[rushgate.ID]bool
}

// sale draws one of the sales.
func (h *history) sale(t *rapid.T) *record {
	return h.sales[rapid.SampledFrom(slices.Sorted(maps.Keys(h.sales))).Draw(t, "sale")]
}

func (h *history) create(t *rapid.T, id string, limit int64) {
	sale := rushgate.Sale{ID: id, PerUser: limit, Version: 1, Shards: max(1, h.f.Shards), Ack: rushgate.Recorded}
	h.fence(&sale)
	for _, item := range []string{"a", "b", "c"}[:rapid.IntRange(1, 3).Draw(t, "items of "+id)] {
		sale.Items = append(sale.Items, rushgate.Item{ID: item, Stock: rapid.Int64Range(0, 12).Draw(t, "stock")})
	}
	r := &record{model: rushgate.NewModel(sale), unsettled: map[rushgate.ID]bool{}}
	h.sales[id] = r
	h.ok(h.gate.Load(h.ctx, r.snapshot()))
}

// snapshot is the ledger's view of a model.
func (r *record) snapshot() rushgate.Snapshot {
	taken, active := map[string]int64{}, map[rushgate.ID]bool{}
	claims := slices.Clone(r.model.Claims)
	for _, c := range claims {
		taken[c.Item] += c.Quantity
		active[c.ID] = true
	}
	for key, id := range r.model.Keys {
		if !active[id] {
			user, _, _ := strings.Cut(key, " ") // in shards it matters: see claimSome
			claims = append(claims, rushgate.Claim{ID: id, Sale: r.model.Sale.ID, Item: "a", User: user, Quantity: 1,
				Slot: rushgate.NoSlot, State: rushgate.Released, Key: key})
		}
	}
	var stock []rushgate.Stock
	for item, free := range r.model.Free {
		stock = append(stock, rushgate.Stock{Item: item, Total: free + taken[item], Taken: taken[item]})
	}
	sale := r.model.Sale
	return snapshot(&sale, claims, stock...)
}

func (h *history) claimSome(t *rapid.T) {
	most := 8
	if h.f.Shards > 1 {
		most = 1 // the order of a batch holds within a shard
	}
	asks := make([]rushgate.Ask, rapid.IntRange(1, most).Draw(t, "batch"))
	for i := range asks {
		sale := h.sale(t).model.Sale
		a := h.ask(sale.ID, rapid.SampledFrom([]string{"u", "v", "w", "x"}).Draw(t, "user"),
			rapid.SampledFrom([]int64{1, 1, 1, 2, 3}).Draw(t, "quantity"))
		a.Item = rapid.SampledFrom(sale.Items).Draw(t, "item").ID
		a.Key = rapid.SampledFrom([]string{"", "", "", "k", "l", "m", fmt.Sprint("key ", a.ID)}).Draw(t, "key")
		if h.f.Shards > 1 && a.Key != "" {
			a.Key = a.User + " " + a.Key // a shard knows the keys of its own users
		}
		asks[i] = a
	}
	for i, got := range h.claim(asks...) {
		r := h.sales[asks[i].Sale]
		want := r.model.Claim(h.now, asks[i])
		if got.Code != want.Code || got.Prior != want.Prior || !slices.Equal(got.Has, want.Has) ||
			want.Code == rushgate.Granted && got.Slot != want.Slot {
			t.Fatalf("ask %d of %+v:\ngot  %+v\nwant %+v", i, asks, got, want)
		}
		if want.Code == rushgate.Granted {
			r.unsettled[asks[i].ID] = true
			h.made = append(h.made, claimOf(asks[i], want))
		}
	}
}

// some draws claims from all that were ever made, ended or not, even twice.
func (h *history) some(t *rapid.T) []rushgate.Claim {
	if len(h.made) == 0 {
		return nil
	}
	return rapid.SliceOfN(rapid.SampledFrom(h.made), 1, 5).Draw(t, "claims")
}

func (h *history) settleSome(t *rapid.T) {
	claims := h.some(t)
	h.settle(claims...)
	for _, c := range claims {
		delete(h.sales[c.Sale].unsettled, c.ID)
	}
}

func (h *history) returnSome(t *rapid.T) {
	claims := h.some(t)
	h.giveBack(claims...)
	for _, c := range claims {
		h.sales[c.Sale].model.Return(c.ID)
		delete(h.sales[c.Sale].unsettled, c.ID)
	}
}

func (h *history) forgetSome(t *rapid.T) {
	claims := h.some(t)
	h.forget(claims...)
	for _, c := range claims {
		if h.shared() && !h.sales[c.Sale].unsettled[c.ID] {
			continue // not in the journal any more: it stays
		}
		h.sales[c.Sale].model.Forget(c.ID)
		delete(h.sales[c.Sale].unsettled, c.ID)
	}
}

func (h *history) restockOne(t *rapid.T) {
	r := h.sale(t)
	item := rapid.SampledFrom(r.model.Sale.Items).Draw(t, "item").ID
	add := rapid.Int64Range(-5, 5).Draw(t, "add")
	got, err := h.gate.Restock(h.ctx, &rushgate.Restock{Sale: r.model.Sale.ID, Item: item, Add: add, Epoch: r.model.Sale.Epoch})
	h.ok(err)
	want := r.model.Free[item]+add >= 0
	if got != want {
		t.Fatalf("restock of %d by %d: got %t, want %t", r.model.Free[item], add, got, want)
	}
	if want {
		r.model.Free[item] += add
	}
}

func (h *history) changeRules(t *rapid.T) {
	r := h.sale(t)
	sale := &r.model.Sale
	moment := func(name string) time.Time {
		hours := rapid.SampledFrom([]int{0, 0, 0, -5, -1, 1, 5}).Draw(t, name)
		if hours == 0 {
			return time.Time{}
		}
		return h.now.Add(time.Duration(hours) * time.Hour)
	}
	sale.Frozen = rapid.SampledFrom([]bool{false, false, true}).Draw(t, "frozen")
	sale.Ended = rapid.SampledFrom([]bool{false, false, false, true}).Draw(t, "ended")
	sale.OpensAt, sale.ClosesAt = moment("opens"), moment("closes")
	if sale.PerUser > 0 {
		sale.PerUser = rapid.Int64Range(1, 6).Draw(t, "limit")
	}
	h.put(sale)
}

// wait lets time pass, or go back; a gate with a clock of its own has its own idea.
func (h *history) wait(t *rapid.T) {
	if h.f.OwnClock {
		return
	}
	h.now = h.now.Add(time.Duration(rapid.IntRange(-1, 3).Draw(t, "hours")) * time.Hour)
}

// reload rebuilds the gate from what the ledger would have. Everything goes on
// as before, except that what the ledger has is settled.
func (h *history) reload(t *rapid.T) {
	r := h.sale(t)
	if rapid.Bool().Draw(t, "between a limit and none") {
		if r.model.Sale.PerUser > 0 {
			r.model.Sale.PerUser = 0
		} else if r.slotted() {
			r.model.Sale.PerUser = rapid.Int64Range(1, 6).Draw(t, "limit")
		}
	}
	h.fence(&r.model.Sale)
	h.ok(h.gate.Load(h.ctx, r.snapshot()))
	clear(r.unsettled)
}

// slotted says that no claim of the model lacks a slot.
func (r *record) slotted() bool {
	return !slices.ContainsFunc(r.model.Claims, func(c rushgate.Claim) bool { return c.Slot < 0 })
}

// check compares all counts after every step.
func (h *history) check(t *rapid.T) {
	for id, r := range h.sales {
		unsettled := map[string]int64{}
		for _, c := range r.model.Claims {
			if r.unsettled[c.ID] {
				unsettled[c.Item] += c.Quantity
			}
		}
		counts, err := h.gate.Count(h.ctx, id)
		h.ok(err)
		if len(counts) != len(r.model.Free) {
			t.Fatalf("%d items counted, want %d", len(counts), len(r.model.Free))
		}
		for _, c := range counts {
			if c.Free != r.model.Free[c.Item] || c.Unsettled != unsettled[c.Item] || c.Free < 0 {
				t.Fatalf("sale %s: got %+v, want %d free, %d unsettled", id, c, r.model.Free[c.Item], unsettled[c.Item])
			}
		}
	}
}
