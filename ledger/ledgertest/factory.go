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

// start is the moment at which the stories of the suite begin. It has
// milliseconds, which a ledger must keep.
var start = time.Date(2025, 11, 11, 0, 0, 0, 7_000_000, time.UTC)

// later returns the moment so many seconds into the story.
func later(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }

// fate is what a story reports to: a *testing.T, a *testing.B or a *rapid.T.
type fate interface {
	Helper()
	Fatalf(format string, args ...any)
}

// desk is a test's hand on a ledger: it numbers batches and claims.
type desk struct {
	rushgate.Ledger
	t       fate
	home    testing.TB // owns the storage
	storage Storage
	batches int64
	ids     rushgate.ID
}

// open opens a ledger over new storage, and closes it when the test ends.
func open(t testing.TB, f Factory) *desk {
	t.Helper()
	d := openOn(t, t, f.New(t), nil)
	t.Cleanup(d.end)
	return d
}

func openOn(t fate, home testing.TB, s Storage, commit func(func() error) error) *desk {
	return &desk{t: t, home: home, storage: s, ids: 7_291_840_912_345_678, Ledger: s.Open(home, commit)}
}

func (d *desk) end() {
	d.t.Helper()
	if err := d.Close(); err != nil {
		d.t.Fatalf("close the ledger: %v", err)
	}
}

// reopen ends the ledger and opens another over the same storage.
func (d *desk) reopen() {
	d.t.Helper()
	d.end()
	d.Ledger = d.storage.Open(d.home, nil)
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

// sale makes a sale with 15 minutes of hold.
func sale(id string, perUser int64, items ...rushgate.Item) *rushgate.Sale {
	return &rushgate.Sale{ID: id, Name: "Sale " + id, PerUser: perUser, Hold: 15 * time.Minute, Ack: rushgate.Recorded,
		Items: items, Epoch: 1, Version: 1, Shards: 1, CreatedAt: start}
}

func item(id string, stock int64) rushgate.Item {
	return rushgate.Item{ID: id, Name: "Item " + id, Stock: stock}
}

// sell makes and records a sale.
func (d *desk) sell(perUser int64, items ...rushgate.Item) *rushgate.Sale {
	d.t.Helper()
	s := sale("sale-"+rushgate.ID(d.batches+1).String(), perUser, items...)
	d.record(start, &rushgate.Put{Sale: s, Kind: rushgate.SaleCreated})
	return s
}

// claim makes a held claim of one unit, in slot 0 where the sale has a limit.
func (d *desk) claim(s *rushgate.Sale, item, user string) rushgate.Claim {
	d.ids++
	c := rushgate.Claim{ID: d.ids, Sale: s.ID, Item: item, User: user, Quantity: 1, State: rushgate.Held,
		CreatedAt: start, ExpiresAt: start.Add(s.Hold)}
	if s.PerUser == 0 {
		c.Slot = rushgate.NoSlot
	}
	return c
}

// atOnce makes a claim that needs no confirmation.
func (d *desk) atOnce(s *rushgate.Sale, item, user string) rushgate.Claim {
	c := d.claim(s, item, user)
	c.State, c.ExpiresAt, c.EndedAt = rushgate.Confirmed, time.Time{}, c.CreatedAt
	return c
}

func inSlot(c rushgate.Claim, slot int32) rushgate.Claim {
	c.Slot = slot
	return c
}

func ofUnits(c rushgate.Claim, n int64) rushgate.Claim {
	c.Quantity = n
	return c
}

func withKey(c rushgate.Claim, key string) rushgate.Claim {
	c.Key = key
	return c
}

func grant(s *rushgate.Sale, claims ...rushgate.Claim) *rushgate.Grant {
	return &rushgate.Grant{Sale: s.ID, Epoch: s.Epoch, PerUser: s.PerUser, Claims: claims}
}

func move(to rushgate.State, claims ...rushgate.Claim) *rushgate.Move {
	m := &rushgate.Move{Sale: claims[0].Sale, To: to}
	for _, c := range claims {
		m.IDs = append(m.IDs, c.ID)
	}
	return m
}
