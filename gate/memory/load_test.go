package memory_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"rushgate"
	"rushgate/gate/memory"
)

// gateWith returns a gate with one sale of so much of item "a", and its snapshot.
func gateWith(t *testing.T, stock int64) (*memory.Gate, rushgate.Snapshot) {
	t.Helper()
	g := memory.New()
	snap := rushgate.Snapshot{
		Sale:   &rushgate.Sale{ID: "sale", PerUser: 1},
		Stock:  []rushgate.Stock{{Item: "a", Total: stock}},
		Claims: func(func(rushgate.Claim, error) bool) {},
	}
	if err := g.Load(t.Context(), snap); err != nil {
		t.Fatal(err)
	}
	return g, snap
}

func decide(t *testing.T, g *memory.Gate, id rushgate.ID, user string) rushgate.Code {
	t.Helper()
	out := make([]rushgate.Decision, 1)
	asks := []rushgate.Ask{{ID: id, Sale: "sale", Item: "a", User: user, Quantity: 1}}
	if err := g.Claim(t.Context(), time.Time{}, asks, out); err != nil {
		t.Fatal(err)
	}
	return out[0].Code
}

// A load that undid a grant would sell its unit again.
func TestLoadFailsWhenTheSaleChangedMeanwhile(t *testing.T) {
	grant := func(t *testing.T, g *memory.Gate) {
		if code := decide(t, g, 7, "u"); code != rushgate.Granted {
			t.Fatal(code)
		}
	}
	for name, change := range map[string]func(*testing.T, *memory.Gate) error{
		"claim": func(t *testing.T, g *memory.Gate) error { grant(t, g); return nil },
		"restock": func(t *testing.T, g *memory.Gate) error {
			_, err := g.Restock(t.Context(), &rushgate.Restock{Sale: "sale", Item: "a", Add: -1})
			return err
		},
		"put": func(t *testing.T, g *memory.Gate) error {
			return g.Put(t.Context(), &rushgate.Put{Sale: &rushgate.Sale{ID: "sale", PerUser: 1, Frozen: true}})
		},
		"return": func(t *testing.T, g *memory.Gate) error {
			return g.Return(t.Context(), []rushgate.Claim{{ID: 1, Sale: "sale", User: "first"}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			g, snap := gateWith(t, 2)
			decide(t, g, 1, "first")
			snap.Claims = func(func(rushgate.Claim, error) bool) {
				if err := change(t, g); err != nil {
					t.Error(err)
				}
			}
			if g.Load(t.Context(), snap) == nil {
				t.Fatal("the load undid a change")
			}
			snap.Claims = func(func(rushgate.Claim, error) bool) {}
			if err := g.Load(t.Context(), snap); err != nil {
				t.Fatal(err) // once it is quiet, it goes through
			}
		})
	}
}

func TestLoadRefusesWhatCannotBe(t *testing.T) {
	claim := rushgate.Claim{ID: 1, Item: "a", User: "u", Quantity: 1, State: rushgate.Held}
	twin, stranger, none, huge, nobody := claim, claim, claim, claim, claim
	twin.ID, stranger.Item, none.Quantity, huge.Quantity, nobody.ID = 2, "b", 0, rushgate.MaxQuantity+1, 0
	for name, claims := range map[string][]rushgate.Claim{
		"two claims in one slot": {claim, twin},
		"an item without stock":  {stranger},
		"a quantity of 0":        {none},
		"too large a quantity":   {huge},
		"an id of 0":             {nobody},
	} {
		t.Run(name, func(t *testing.T) {
			g, snap := gateWith(t, 1)
			snap.Claims = func(yield func(rushgate.Claim, error) bool) {
				for _, c := range claims {
					if !yield(c, nil) {
						return
					}
				}
			}
			if g.Load(t.Context(), snap) == nil {
				t.Fatal("it was loaded")
			}
			if code := decide(t, g, 9, "v"); code != rushgate.Granted {
				t.Fatalf("the old state answers %s", code)
			}
		})
	}
}

func TestLoadObeysItsContext(t *testing.T) {
	g, snap := gateWith(t, 1)
	ctx, cancel := context.WithCancel(t.Context())
	snap.Claims = func(yield func(rushgate.Claim, error) bool) {
		cancel()
		for yield(rushgate.Claim{ID: 1, Item: "a", State: rushgate.Released}, nil) {
		}
	}
	if err := g.Load(ctx, snap); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
}
