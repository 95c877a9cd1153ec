package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"rushgate"
	"rushgate/bench/load"
	"rushgate/gate/memory"
	"rushgate/ledger/sqlite"
)

// gateBytes is the most that the gate may spend on a user whom it remembers.
const gateBytes = 120

// memory measures what the gate spends on each user who has a claim.
func (b *bench) memory(ctx context.Context) error {
	seed := b.nextSeed()
	before := heap()
	g := memory.New()
	snap := rushgate.Snapshot{Sale: &rushgate.Sale{ID: saleID, PerUser: 1},
		Stock:  []rushgate.Stock{{Item: itemID, Total: manyUnits}},
		Claims: func(func(rushgate.Claim, error) bool) {}}
	if err := g.Load(ctx, snap); err != nil {
		return err
	}
	asks, out, claims := make([]rushgate.Ask, 1000), make([]rushgate.Decision, 1000), make([]rushgate.Claim, 1000)
	began := time.Now()
	for done := 0; done < b.users; done += len(asks) {
		for i := range asks {
			n := done + i + 1
			asks[i] = rushgate.Ask{ID: rushgate.ID(n), Sale: saleID, Item: itemID, Quantity: 1,
				User: load.Name(load.Random, seed, uint64(n))}
			claims[i] = rushgate.Claim{ID: asks[i].ID, Sale: saleID}
		}
		if err := g.Claim(ctx, time.Now(), asks, out); err != nil {
			return err
		}
		if code := out[len(out)-1].Code; code != rushgate.Granted {
			return fmt.Errorf("user %d: %s", done+len(asks), code)
		}
		if err := g.Settle(ctx, claims); err != nil {
			return err
		}
	}
	took := time.Since(began)
	each := float64(heap()-before) / float64(b.users)
	runtime.KeepAlive(g)
	b.bound(rowf("memory gate, %.0f million users", float64(b.users)/1e6), figure{value: each}, "bytes each", "≤ 120", each <= gateBytes)
	b.plain("memory gate, decisions on one core, without HTTP", figure{value: float64(b.users) / took.Seconds()}, "/s")
	return g.Close()
}

func heap() int64 {
	runtime.GC()
	runtime.GC() // what pools held is gone only now
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// rebuild measures how long a gate takes to know again what the ledger knows.
func (b *bench) rebuild(ctx context.Context) (err error) {
	dir, err := b.fresh()
	if err != nil {
		return err
	}
	l, err := sqlite.Open(ctx, dir, sqlite.Options{})
	if err != nil {
		return err
	}
	c := &crowd{ledger: l, seed: b.nextSeed(), names: load.Random}
	err = c.openSale(ctx)
	for c.made < int64(b.rebuilt) && err == nil {
		_, err = c.record(ctx, 1000)
	}
	if err = errors.Join(err, l.Close()); err != nil {
		return err
	}
	began := time.Now()
	if l, err = sqlite.Open(ctx, dir, sqlite.Options{}); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	g := memory.New()
	err = l.Snapshot(ctx, saleID, func(s rushgate.Snapshot) error { return g.Load(ctx, s) })
	if err != nil {
		return err
	}
	took := time.Since(began)
	counts, err := g.Count(ctx, saleID)
	if err != nil {
		return err
	}
	if len(counts) != 1 || counts[0].Free != manyUnits-c.made {
		return fmt.Errorf("the rebuilt gate counts %+v after %d claims of %d units", counts, c.made, manyUnits)
	}
	b.plain(rowf("rebuild of %.1f million claims from the ledger", float64(b.rebuilt)/1e6), figure{value: took.Seconds()}, "s")
	return g.Close()
}
