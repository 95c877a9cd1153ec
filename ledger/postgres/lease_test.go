package postgres_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"rushgate"
	"rushgate/ledger/postgres"
)

// TestALeaseThatEndsWhileItIsAskedFor: its end falls into the middle of somebody
// else's Acquire, after the look for one that is over, which waits for those who
// write under it. It must not change hands past them.
func TestALeaseThatEndsWhileItIsAskedFor(t *testing.T) {
	t.Parallel()
	s := newSchema(t)
	bob := newStandby(newTill(t, s.url, postgres.Options{LockWait: time.Minute}))
	within := func() {}
	ann := opened(t, s.unhurried(), postgres.Options{Commit: func(commit func() error) error {
		within()
		return commit()
	}})
	lease, held, err := ann.Acquire(t.Context(), rushgate.Lease{Name: "seller", Holder: "ann"}, time.Hour)
	if err != nil || !held {
		t.Fatal(held, err)
	}
	early := errors.New("the lease changed hands in the middle of what is written under it")
	within = func() { // her batch is written, and not yet committed
		end := s.begin(t, `UPDATE leases SET expires_at = clock_timestamp()`)
		go bob.ask(t.Context())
		until(t, s, bob.asked) // his look has found that it is not over
		end(true)
		if until(t, s, bob.holds) { // or waits for her
			err = early
		}
	}
	b := &rushgate.Batch{ID: 1_000_000, At: morning, Steps: []rushgate.Step{(&till{}).grant(1)}}
	must(t, ann.Under(lease).Record(t.Context(), b))
	<-bob.holds
	must(t, err)
	must(t, bob.err)
	bob.taken(t, 1)
}

// standby is a node that asks for a lease until it has it.
type standby struct {
	*till
	asked, holds chan struct{} // closed after the first answer, and when it has the lease
	err          error         // read after holds
}

func newStandby(k *till) *standby {
	return &standby{till: k, asked: make(chan struct{}), holds: make(chan struct{})}
}

func (b *standby) ask(ctx context.Context) {
	defer close(b.holds)
	for n, held := 0, false; !held && b.err == nil; n++ {
		_, held, b.err = b.Acquire(ctx, rushgate.Lease{Name: "seller", Holder: "bob"}, time.Hour)
		if n == 0 {
			close(b.asked)
		}
	}
}

// until returns when somebody has to wait for another one's transaction, false,
// or when done is closed, true.
func until(t testing.TB, s schema, done <-chan struct{}) bool {
	t.Helper()
	for blocked := false; !blocked; {
		select {
		case <-done:
			return true
		default:
		}
		must(t, s.admin.QueryRow(context.Background(), `SELECT EXISTS (SELECT 1 FROM pg_stat_activity
			WHERE application_name = $1 AND cardinality(pg_blocking_pids(pid)) > 0)`, s.name).Scan(&blocked))
	}
	return false
}
