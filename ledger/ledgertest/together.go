package ledgertest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"rushgate"
)

var together = []sharedTest{
	{"ManyNodesSellWithoutALimit", func(t *testing.T, s SharedStorage) { sellTogether(t, s, 0) }},
	{"ManyNodesSellOneForEach", func(t *testing.T, s SharedStorage) { sellTogether(t, s, 1) }},
	{"ManyNodesSellThreeForEach", func(t *testing.T, s SharedStorage) { sellTogether(t, s, 3) }},
	{"TwoSalesInOppositeOrders", func(t *testing.T, s SharedStorage) {
		all := nodes(t, s, 4)
		a, b := all[0].sell(0, item("x", 100_000)), all[0].sell(0, item("x", 100_000))
		const rounds, size = 25, 10
		for _, err := range atOnce(all, func(i int, d *desk) error {
			first, second := a, b
			if i%2 == 1 {
				first, second = b, a
			}
			for range rounds {
				if err := d.crosswise(first, second, size); err != nil {
					return err
				}
			}
			return nil
		}) {
			if err != nil {
				t.Fatal(err)
			}
		}
		for _, sale := range []*rushgate.Sale{a, b} {
			y := all[0].sound(sale.ID)
			n := int64(len(all) * rounds * size)
			if y.Claims[rushgate.Confirmed] != n/2 || y.Claims[rushgate.Released] != n/2 || y.Events[rushgate.ItemRestocked] != n/size {
				t.Fatalf("claims %v, events %v", y.Claims, y.Events)
			}
		}
	}},
}

// crosswise sells and moves claims of two sales in the order in which they are
// given: the way into a deadlock.
func (d *desk) crosswise(first, second *rushgate.Sale, size int) error {
	var one, two []rushgate.Claim
	for range size {
		one, two = append(one, d.claim(first, "x", "ann")), append(two, d.claim(second, "x", "ann"))
	}
	if err := d.try(grant(first, one...), grant(second, two...)); err != nil {
		return err
	}
	half := size / 2
	return d.try(move(rushgate.Confirmed, one[:half]...), move(rushgate.Released, two[:half]...),
		&rushgate.Restock{Sale: second.ID, Item: "x", Add: 1}, &rushgate.Restock{Sale: first.ID, Item: "x", Add: 1},
		move(rushgate.Released, one[half:]...), move(rushgate.Confirmed, two[half:]...))
}

// seller is a node that sells at random, and remembers what it was told.
type seller struct {
	*desk
	sale   *rushgate.Sale
	chance *rand.Rand
	held   []rushgate.Claim

	claims  map[rushgate.ID]rushgate.State // as this node left them
	refused int
}

// sellTogether lets three nodes sell one sale at the same time, in random
// batches, while a reader follows its events.
func sellTogether(t *testing.T, s SharedStorage, perUser int64) {
	const rounds = 40
	all := nodes(t, s, 3)
	reader := node(t, s, 9)
	sale := all[0].sell(perUser, item("a", 400), item("b", 300))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	followed := make(chan error, 1)
	go func() { followed <- watch(ctx, reader.Ledger, sale.ID) }()

	sellers := make([]*seller, len(all))
	for i, d := range all {
		sellers[i] = &seller{desk: d, sale: sale, chance: rand.New(rand.NewPCG(uint64(perUser), uint64(i))), claims: map[rushgate.ID]rushgate.State{}}
	}
	errs := atOnce(all, func(i int, _ *desk) error {
		for range rounds {
			if err := sellers[i].batchOfAll(); err != nil {
				return err
			}
		}
		return nil
	})
	cancel()
	for _, err := range append(errs, <-followed) {
		if err != nil {
			t.Fatal(err)
		}
	}
	sumsUp(t, reader, sale, sellers)
}

// batchOfAll records a batch of grants and moves as a desk would. A refusal must
// be one that other nodes can have caused.
func (w *seller) batchOfAll() error {
	var claims []rushgate.Claim
	for range 1 + w.chance.IntN(8) {
		c := w.claim(w.sale, []string{"a", "b"}[w.chance.IntN(2)], fmt.Sprint("u", w.chance.IntN(400)))
		if w.sale.PerUser > 0 {
			c.Slot = int32(w.chance.Int64N(w.sale.PerUser))
		}
		claims = append(claims, c)
	}
	steps := []rushgate.Step{grant(w.sale, claims...)}
	var moves []*rushgate.Move
	n := w.chance.IntN(len(w.held) + 1)
	for i, to := range []rushgate.State{rushgate.Released, rushgate.Confirmed} {
		if part := w.held[n*i/2 : n*(i+1)/2]; len(part) > 0 {
			moves = append(moves, move(to, part...))
			steps = append(steps, moves[len(moves)-1])
		}
	}
	switch err := w.try(steps...); refusedBy(err) {
	case "":
		if err != nil {
			return err
		}
	case rushgate.BarrierStock, rushgate.BarrierSlot:
		w.refused++
		return nil
	default:
		return err
	}
	w.held = append(w.held[n:], claims...)
	for _, c := range claims {
		w.claims[c.ID] = c.State
	}
	return w.remember(moves, n)
}

func (w *seller) remember(moves []*rushgate.Move, n int) error {
	for _, m := range moves {
		for _, c := range m.Moved {
			w.claims[c.ID] = c.State
			n--
		}
	}
	if n != 0 {
		return fmt.Errorf("%d held claims were not moved", n)
	}
	return nil
}

// refusedBy returns the barrier of an error, or "".
func refusedBy(err error) rushgate.Barrier {
	var barrier *rushgate.BarrierError
	if errors.As(err, &barrier) {
		return barrier.Barrier
	}
	return ""
}

// sumsUp compares the sale with the sum of what its sellers were told.
func sumsUp(t *testing.T, d *desk, sale *rushgate.Sale, sellers []*seller) {
	t.Helper()
	want := map[rushgate.ID]rushgate.State{}
	events, refused := int64(1), 0
	for _, w := range sellers {
		refused += w.refused
		for id, state := range w.claims {
			want[id] = state
			if events++; state != rushgate.Held {
				events++
			}
		}
	}
	got := map[rushgate.ID]rushgate.State{}
	for _, c := range must[[]rushgate.Claim](t)(d.Claims(t.Context(), rushgate.ClaimQuery{Sale: sale.ID, Limit: plenty})) {
		got[c.ID] = c.State
	}
	same(t, "the claims of all nodes", got, want)
	y := d.sound(sale.ID)
	if y.LastSeq != events || len(want) == 0 || sale.PerUser > 0 && refused == 0 {
		t.Fatalf("%d events, want %d; %d claims, %d refused batches", y.LastSeq, events, len(want), refused)
	}
}
