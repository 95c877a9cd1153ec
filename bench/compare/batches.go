package main

import (
	"context"
	"errors"
	"time"

	"rushgate"
	"rushgate/bench/load"
	"rushgate/ledger/sqlite"
)

// batchSize is that of the table.
const batchSize = 500

// batches measures the batch endpoint against the bare ledger, which records
// batches of the same size without HTTP, gate, or anybody to answer.
func (b *bench) batches(ctx context.Context) error {
	for round := range b.rounds {
		if err := b.bareLedger(ctx, round+1); err != nil {
			return err
		}
		_, err := b.withOwn(ctx, Sample{Part: "batch", Round: round + 1, System: sysRushgate},
			load.Plan{Mode: load.Closed, Connections: 8, PerRequest: batchSize})
		if err != nil {
			return err
		}
	}
	bare := b.figure(b.pick("batch", sysBare, "bare", 0, load.Sequential), perSecond)
	rush := b.figure(b.pick("batch", sysRushgate, "own", 8, load.Sequential), perSecond)
	b.atLeast(rowf("batch endpoint, %d claims a request, ÷ bare ledger", batchSize), rush, bare, 0.7)
	return nil
}

const sysBare = "bare ledger"

// The rows of the bare ledger are those that the server writes: ids of the
// same length and distance, and a hold.
const (
	firstID = rushgate.ID(378_712_180_654_000_000)
	hold    = 15 * time.Minute
)

// bareLedger records batches one after the other and counts only the time
// within Record.
func (b *bench) bareLedger(ctx context.Context, round int) error {
	_, err := b.quietly(func() (Sample, error) {
		sample := Sample{Part: "batch", Round: round, System: sysBare, Load: "bare", Names: load.Sequential, PerRequest: batchSize}
		err := b.recordBare(ctx, &sample)
		return sample, err
	})
	return err
}

func (b *bench) recordBare(ctx context.Context, sample *Sample) (err error) {
	dir, err := b.fresh()
	if err != nil {
		return err
	}
	l, err := sqlite.Open(ctx, dir, sqlite.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	c := &crowd{ledger: l, seed: b.nextSeed(), names: sample.Names}
	if err := c.openSale(ctx); err != nil {
		return err
	}
	if _, err := c.recordFor(ctx, b.warmup); err != nil {
		return err
	}
	warm, clock := c.made, (&server{}).stopwatch()
	used, err := c.recordFor(ctx, b.measured)
	if err != nil {
		return err
	}
	_, sample.StrangersPercent = clock.stop(b.result.Machine.Cores, 0)
	sample.Accepted, sample.Recorded, sample.Acknowledged = c.made-warm, c.made, c.made
	sample.PerSecond = float64(sample.Accepted) / used.Seconds()
	return nil
}

// recordFor records batches for d and returns how long the ledger took of it.
func (c *crowd) recordFor(ctx context.Context, d time.Duration) (used time.Duration, err error) {
	for until := time.Now().Add(d); time.Now().Before(until); {
		took, err := c.record(ctx, batchSize)
		if err != nil {
			return 0, err
		}
		used += took
	}
	return used, nil
}

// crowd writes claims of one sale straight into a ledger.
type crowd struct {
	ledger rushgate.Ledger
	sale   *rushgate.Sale
	names  load.Names
	seed   uint64
	made   int64
	batch  int64
}

func (c *crowd) openSale(ctx context.Context) error {
	c.sale = &rushgate.Sale{ID: saleID, Name: "Bench", PerUser: 1, Hold: hold, Ack: rushgate.Recorded, Epoch: 1,
		Items: []rushgate.Item{{ID: itemID, Stock: manyUnits}}, CreatedAt: time.Now().Truncate(time.Millisecond)}
	return c.write(ctx, &rushgate.Put{Sale: c.sale, Kind: rushgate.SaleCreated})
}

func (c *crowd) write(ctx context.Context, step rushgate.Step) error {
	c.batch++
	return c.ledger.Record(ctx, &rushgate.Batch{ID: c.batch, At: time.Now().Truncate(time.Millisecond), Steps: []rushgate.Step{step}})
}

// record writes n claims of new users and returns how long the ledger took.
func (c *crowd) record(ctx context.Context, n int) (time.Duration, error) {
	now := time.Now().Truncate(time.Millisecond)
	claims := make([]rushgate.Claim, n)
	for i := range claims {
		c.made++
		claims[i] = rushgate.Claim{ID: firstID + 64*rushgate.ID(c.made), Sale: saleID, Item: itemID, Quantity: 1,
			User: load.Name(c.names, c.seed, uint64(c.made)), State: rushgate.Held, CreatedAt: now, ExpiresAt: now.Add(hold)}
	}
	began := time.Now()
	err := c.write(ctx, &rushgate.Grant{Sale: saleID, Epoch: c.sale.Epoch, PerUser: c.sale.PerUser, Claims: claims})
	return time.Since(began), err
}
