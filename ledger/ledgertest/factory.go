// Package ledgertest holds every ledger against the contract of
// [rushgate.Ledger]: one suite, one set of benchmarks, for all databases.
package ledgertest

import (
	"context"
	"testing"
	"time"

	"rushgate"
)

// Factory makes ledgers for a suite.
type Factory struct {
	// New makes empty storage of its own. The suite opens ledgers over it.
	New func(t testing.TB) Storage
}

// Storage is where a ledger keeps what it knows. At most one ledger is open
// over it at a time.
type Storage interface {
	// Open opens a ledger over the storage: what a restart sees. The suite
	// closes it. commit, when not nil, stands between the ledger and each
	// COMMIT of a batch: it may fail before or after it has called its
	// argument.
	Open(t testing.TB, commit func(func() error) error) rushgate.Ledger
}

// Epochal is the moment at which the stories of the suite begin.
var epochal = time.Date(2026, 11, 11, 0, 0, 0, 0, time.UTC)

// later returns the moment so many seconds into the story.
func later(seconds int) time.Time { return epochal.Add(time.Duration(seconds) * time.Second) }

// desk is a test's hand on a ledger: it numbers batches and claims.
type desk struct {
	rushgate.Ledger
	t       testing.TB
	storage Storage
	batches int64
	ids     rushgate.ID
}

func open(t testing.TB, f Factory) *desk {
	t.Helper()
	s := f.New(t)
	d := &desk{t: t, storage: s, ids: 7_291_840_912_345_678, Ledger: s.Open(t, nil)}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Errorf("close the ledger: %v", err)
		}
	})
	return d
}

// reopen ends the ledger and opens another over the same storage.
func (d *desk) reopen() {
	d.t.Helper()
	if err := d.Close(); err != nil {
		d.t.Fatalf("close the ledger: %v", err)
	}
	d.Ledger = d.storage.Open(d.t, nil)
}

func (d *desk) batch(at time.Time, steps ...rushgate.Step) *rushgate.Batch {
	d.batches++
	return &rushgate.Batch{ID: d.batches, At: at, Steps: steps}
}

// record records steps that the ledger must take.
func (d *desk) record(at time.Time, steps ...rushgate.Step) {
	d.t.Helper()
	if err := d.Record(context.Background(), d.batch(at, steps...)); err != nil {
		d.t.Fatalf("record: %v", err)
	}
}

// sale makes a sale of 15 minutes hold.
func sale(id string, perUser int64, items ...rushgate.Item) *rushgate.Sale {
	return &rushgate.Sale{ID: id, Name: "Sale " + id, PerUser: perUser, Hold: 15 * time.Minute, Ack: rushgate.Recorded,
		Items: items, Epoch: 1, CreatedAt: epochal}
}

func item(id string, stock int64) rushgate.Item {
	return rushgate.Item{ID: id, Name: "Item " + id, Stock: stock}
}

// sell makes and records a sale.
func (d *desk) sell(perUser int64, items ...rushgate.Item) *rushgate.Sale {
	d.t.Helper()
	d.batches++
	s := sale("sale-"+rushgate.ID(d.batches).String(), perUser, items...)
	d.record(epochal, &rushgate.Put{Sale: s, Kind: rushgate.SaleCreated})
	return s
}

// claim makes a held claim of one unit.
func (d *desk) claim(s *rushgate.Sale, item, user string, slot int32) rushgate.Claim {
	d.ids++
	return rushgate.Claim{ID: d.ids, Sale: s.ID, Item: item, User: user, Quantity: 1, Slot: slot, State: rushgate.Held,
		CreatedAt: epochal, ExpiresAt: epochal.Add(s.Hold)}
}

func grant(s *rushgate.Sale, claims ...rushgate.Claim) *rushgate.Grant {
	return &rushgate.Grant{Sale: s.ID, Epoch: s.Epoch, PerUser: s.PerUser, Claims: claims}
}
