package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/bwmarrin/snowflake"
	"github.com/google/uuid"
	"github.com/sony/sonyflake/v2"

	"rushgate/id"
)

// idsFor is how long each maker of ids runs in a round.
const idsFor = 300 * time.Millisecond

// idMaker is one way to make ids.
type idMaker struct {
	name  string
	next  func() error
	rates map[int][]float64 // by goroutines: ids a second, one of each round
}

// ids measures makers of ids, all in this process, side by side.
func (b *bench) ids(ctx context.Context) (err error) {
	node, err := id.Join(ctx, id.NewMemory(nil), id.NodeConfig{Layout: id.Standard(8)})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, node.Close()) }()
	makers, err := idMakers(node)
	if err != nil {
		return err
	}
	for round := range b.rounds {
		for _, goroutines := range []int{1, 4} {
			for _, m := range makers {
				rate, err := m.run(goroutines)
				if err != nil {
					return fmt.Errorf("%s: %w", m.name, err)
				}
				m.rates[goroutines] = append(m.rates[goroutines], rate)
				b.say("round %d  %-18s %d goroutines %12.0f/s", round+1, m.name, goroutines, rate)
			}
		}
	}
	b.idRows(makers)
	made, ahead, rate, err := atTwoMillion(ctx)
	b.bound(rowf("ids ahead of the clock, of %d at %.2f million/s", made, rate/1e6), figure{value: float64(ahead)}, "ids", "0", ahead == 0)
	return err
}

func idMakers(node *id.Node) ([]*idMaker, error) {
	bw, err := snowflake.NewNode(1)
	if err != nil {
		return nil, err
	}
	sony, err := sonyflake.New(sonyflake.Settings{MachineID: func() (int, error) { return 1, nil }})
	if err != nil {
		return nil, err
	}
	alone, err := id.New(id.Config{Layout: id.Standard(0)})
	if err != nil {
		return nil, err
	}
	uuids := id.NewUUIDs(nil)
	makers := []*idMaker{
		{name: "id.Node", next: func() error { _, err := node.Next(); return err }},
		{name: "id.Generator", next: func() error { alone.Next(); return nil }},
		{name: "bwmarrin/snowflake", next: func() error { bw.Generate(); return nil }},
		{name: "sony/sonyflake", next: func() error { _, err := sony.NextID(); return err }},
		{name: "id.UUIDs", next: func() error { uuids.Next(); return nil }},
		{name: "google/uuid v7", next: func() error { _, err := uuid.NewV7(); return err }},
	}
	for _, m := range makers {
		m.rates = map[int][]float64{}
	}
	return makers, nil
}

// run makes ids in several goroutines, and returns how many there were a second.
func (m *idMaker) run(goroutines int) (float64, error) {
	made, errs := make([]int, goroutines), make([]error, goroutines)
	var wg sync.WaitGroup
	began := time.Now()
	for g := range goroutines {
		wg.Go(func() {
			for time.Since(began) < idsFor {
				for range 64 {
					if errs[g] = m.next(); errs[g] != nil {
						return
					}
				}
				made[g] += 64
			}
		})
	}
	wg.Wait()
	took := time.Since(began).Seconds()
	sum := 0
	for _, n := range made {
		sum += n
	}
	return float64(sum) / took, errors.Join(errs...)
}

func (b *bench) idRows(makers []*idMaker) {
	for _, goroutines := range []int{1, 4} {
		rate := func(name string) figure {
			for _, m := range makers {
				if m.name == name {
					rates := slices.Sorted(slices.Values(m.rates[goroutines]))
					return figure{value: rates[len(rates)/2]}
				}
			}
			return figure{void: "not measured"}
		}
		from := rowf("from %d goroutines", goroutines)
		b.plain("leased ids, "+from, rate("id.Node"), "/s")
		b.atLeast("leased ids ÷ bwmarrin/snowflake, "+from, rate("id.Node"), rate("bwmarrin/snowflake"), 1)
		b.inform("leased ids ÷ sony/sonyflake, "+from, rate("id.Node"), rate("sony/sonyflake"))
		b.inform("ids without a lease ÷ bwmarrin/snowflake, "+from, rate("id.Generator"), rate("bwmarrin/snowflake"))
		b.atLeast("UUIDv7 ÷ google/uuid, "+from, rate("id.UUIDs"), rate("google/uuid v7"), 1)
	}
}

// atTwoMillion makes an id every 500 ns for a second, by the real clock, and
// counts those whose time is ahead of it. What a pause of the machine has missed is
// not made up for: then there would be more than two million a second.
func atTwoMillion(ctx context.Context) (made, ahead int, rate float64, err error) {
	const every, late = 500 * time.Nanosecond, 50 * time.Microsecond
	layout := id.Standard(8)
	node, err := id.Join(ctx, id.NewMemory(nil), id.NodeConfig{Layout: layout})
	if err != nil {
		return 0, 0, 0, err
	}
	defer func() { err = errors.Join(err, node.Close()) }()
	began := time.Now()
	var next, missed time.Duration
	for next < time.Second {
		now := time.Since(began)
		if now < next {
			continue
		}
		if now > next+late {
			missed += now - next
			next = now
		}
		n, err := node.Next()
		if err != nil {
			return made, ahead, 0, err
		}
		if layout.Time(n).After(time.Now()) {
			ahead++
		}
		made++
		next += every
	}
	return made, ahead, float64(made) / (time.Since(began) - missed).Seconds(), nil
}
