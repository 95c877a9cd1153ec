package ledgertest

import (
	"context"
	"testing"

	"rushgate"
)

// SharedFactory makes storage for ledgers that several nodes share.
type SharedFactory struct {
	// New makes empty storage of its own.
	New func(t testing.TB) SharedStorage
}

// SharedStorage is a database on a server. Any number of ledgers may be open
// over it at the same time, each for a node. They implement [rushgate.Leases] too,
// and wait for somebody else's lock for longer than a busy machine stands still.
type SharedStorage interface {
	Storage

	// OpenHasty is Open for a ledger that waits about a second for a lock.
	OpenHasty(t testing.TB) rushgate.Ledger

	// Hold begins a transaction that has locked the row of a sale, as that of a
	// node which was paused in the middle of a batch. release ends it, and
	// leaves nothing behind.
	Hold(t testing.TB, sale string) (release func())

	// Doubt begins a transaction that has written the row of a batch, as that
	// of a node whose COMMIT is still on its way. end ends it.
	Doubt(t testing.TB, batch int64) (end func(commit bool))

	// Waiting says whether a session waits for a lock that another one has.
	Waiting(t testing.TB) bool
}

// RunShared holds ledgers over one server against the contract, with several
// nodes at the same time.
func RunShared(t *testing.T, f SharedFactory) {
	for _, group := range []struct {
		name  string
		tests []sharedTest
	}{
		{"Together", together}, {"Races", races}, {"Locks", locks},
	} {
		t.Run(group.name, func(t *testing.T) {
			for _, c := range group.tests {
				t.Run(c.name, func(t *testing.T) { c.run(t, f.New(t)) })
			}
		})
	}
}

type sharedTest struct {
	name string
	run  func(t *testing.T, s SharedStorage)
}

// node opens one more ledger over a storage. Its batches and claims have numbers
// that no other node gives out.
func node(t testing.TB, s SharedStorage, number int) *desk {
	t.Helper()
	d := openOn(t, t, s, nil)
	d.batches, d.ids = int64(number)*1_000_000, d.ids+rushgate.ID(number)*1_000_000
	t.Cleanup(d.end)
	return d
}

// nodes opens so many ledgers over a storage.
func nodes(t testing.TB, s SharedStorage, n int) []*desk {
	t.Helper()
	list := make([]*desk, n)
	for i := range list {
		list[i] = node(t, s, i)
	}
	return list
}

// atOnce runs f for each node in a goroutine of its own, and returns the errors
// in the order of the nodes. f must not end the test.
func atOnce(nodes []*desk, f func(i int, d *desk) error) []error {
	errs := make([]error, len(nodes))
	done := make(chan int)
	for i, d := range nodes {
		go func() {
			errs[i] = f(i, d)
			done <- i
		}()
	}
	for range nodes {
		<-done
	}
	return errs
}

// try records steps, which may be refused.
func (d *desk) try(steps ...rushgate.Step) error {
	return d.Record(context.Background(), d.batch(later(1), steps...))
}

// blocked waits until a session waits for a lock, and fails when done is closed
// before: whoever should wait has not.
func blocked(t testing.TB, s SharedStorage, done <-chan struct{}) {
	t.Helper()
	for !s.Waiting(t) {
		select {
		case <-done:
			t.Fatal("it was over without having waited for the lock")
		default:
		}
	}
}
