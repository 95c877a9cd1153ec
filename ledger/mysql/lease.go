package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"rushgate"
)

// sqlNow is the database's clock, in milliseconds, at the beginning of the
// statement: whoever waits for a lock asks for the time in the next one.
const sqlNow = `CAST(UNIX_TIMESTAMP(NOW(3)) * 1000 AS SIGNED)`

// sqlUnder finds and locks the lease that something is written under. Nothing
// but the index is read, so that nothing but its entry is locked: extending the
// lease changes the row alone and goes on beside it, a change of hands waits.
const sqlUnder = ` FROM leases FORCE INDEX (leases_term) WHERE name = ? AND term = ? AND holder = ? LOCK IN SHARE MODE`

// Acquire implements [rushgate.Leases].
func (l *Ledger) Acquire(ctx context.Context, want rushgate.Lease, ttl time.Duration) (got rushgate.Lease, held bool, err error) {
	if err := checkLease(&want, ttl); err != nil {
		return rushgate.Lease{}, false, err
	}
	for range 2 { // two may make the row of a new name at the same time
		err = l.write(ctx, task{l.leases, waitRetries, plain}, func(t *tx) (err error) {
			got, held, err = t.acquire(want, ttl)
			return err
		})
		if number(err) != erDuplicate {
			break
		}
	}
	if err != nil {
		return rushgate.Lease{}, false, wrap("acquire the lease "+want.Name, err)
	}
	return got, held, nil
}

// acquire looks at the row of a lease, which nobody else changes meanwhile, and
// takes it if it may.
func (t *tx) acquire(want rushgate.Lease, ttl time.Duration) (got rushgate.Lease, held bool, err error) {
	if err := t.flush(); err != nil {
		return got, false, err
	}
	var left int64
	got.Name = want.Name
	err = t.QueryRowContext(t.ctx, `SELECT holder, note, term FROM leases WHERE name = ? FOR UPDATE`, want.Name).
		Scan(&got.Holder, &got.Note, &got.Term)
	fresh := errors.Is(err, errNoRows)
	if err != nil && !fresh {
		return got, false, err
	}
	if !fresh {
		err = t.QueryRowContext(t.ctx, `SELECT expires_at - `+sqlNow+` FROM leases WHERE name = ?`, want.Name).Scan(&left)
		if err != nil {
			return got, false, err
		}
	}
	if left > 0 && got.Holder != want.Holder {
		got.Left = time.Duration(left) * time.Millisecond
		return got, false, nil
	}
	if left <= 0 {
		got.Term++
	}
	got.Holder, got.Note, got.Left = want.Holder, want.Note, ttl
	return got, true, t.take(&got, ttl, fresh)
}

// take writes the row of a lease. The holder's own, extended, keeps its entry in
// leases_term.
func (t *tx) take(l *rushgate.Lease, ttl time.Duration, fresh bool) error {
	ms := (ttl + time.Millisecond - 1).Milliseconds()
	if fresh {
		if err := t.add(nil, `INSERT INTO leases (name, holder, note, term, expires_at) VALUES (?, ?, ?, ?, ?)`,
			l.Name, l.Holder, l.Note, l.Term, 0); err != nil {
			return err
		}
	} else if err := t.add(nil, `UPDATE leases SET holder = ?, note = ?, term = ? WHERE name = ?`, l.Holder, l.Note, l.Term, l.Name); err != nil {
		return err
	}
	// It may have waited for the old holder's transaction: so the time is asked for now.
	return t.add(nil, `UPDATE leases SET expires_at = `+sqlNow+` + ? WHERE name = ?`, ms, l.Name)
}

// checkLease refuses what no lease can be.
func checkLease(l *rushgate.Lease, ttl time.Duration) error {
	switch {
	case l.Name == "" || len(l.Name) > 100:
		return fmt.Errorf("a lease's name has 1 to 100 bytes, not %d", len(l.Name))
	case l.Holder == "" || len(l.Holder) > 100:
		return fmt.Errorf("the holder of the lease %s has 1 to 100 bytes, not %d", l.Name, len(l.Holder))
	case len(l.Note) > 500:
		return fmt.Errorf("the note of the lease %s has at most 500 bytes, not %d", l.Name, len(l.Note))
	case ttl <= 0:
		return fmt.Errorf("the lease %s is wanted for %s: it must be for a while", l.Name, ttl)
	}
	return nil
}

// Release implements [rushgate.Leases]. Nothing is written under the lease
// afterwards.
func (l *Ledger) Release(ctx context.Context, lease rushgate.Lease) error {
	err := l.write(ctx, task{l.leases, waitRetries, plain}, func(t *tx) error {
		return t.add(nil, `UPDATE leases SET holder = '', expires_at = 0 WHERE name = ? AND term = ? AND holder = ?`,
			lease.Name, lease.Term, lease.Holder)
	})
	return wrap("release the lease "+lease.Name, err)
}

// Held implements [rushgate.Leases].
func (l *Ledger) Held(ctx context.Context, prefix string) ([]rushgate.Lease, error) {
	list, err := l.held(ctx, prefix)
	return list, wrap("list the leases", err)
}

func (l *Ledger) held(ctx context.Context, prefix string) ([]rushgate.Lease, error) {
	rows, err := l.leases.QueryContext(ctx, `SELECT name, holder, note, term, expires_at - `+sqlNow+` AS remaining FROM leases
		WHERE LEFT(name, LENGTH(?)) = ? AND expires_at > `+sqlNow+` ORDER BY name`, prefix, prefix)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var list []rushgate.Lease
	for rows.Next() {
		var one rushgate.Lease
		var left int64
		if err := rows.Scan(&one.Name, &one.Holder, &one.Note, &one.Term, &left); err != nil {
			return nil, err
		}
		one.Left = time.Duration(left) * time.Millisecond
		list = append(list, one)
	}
	return list, rows.Err()
}

// Under implements [rushgate.Leases].
func (l *Ledger) Under(lease rushgate.Lease) rushgate.Ledger { return &under{Ledger: l, lease: lease} }

// under is a ledger that writes only as long as a lease is not somebody else's.
type under struct {
	*Ledger
	lease rushgate.Lease
}

// Record implements [rushgate.Ledger].
func (u *under) Record(ctx context.Context, b *rushgate.Batch) error {
	return u.record(ctx, b, &u.lease)
}

// Fence implements [rushgate.Ledger].
func (u *under) Fence(ctx context.Context, sale string, was int64) (*rushgate.Sale, bool, error) {
	return u.fence(ctx, sale, was, &u.lease)
}

// Close implements [rushgate.Ledger]. It closes nothing: the ledger is somebody else's.
func (u *under) Close() error { return nil }

// lockLease makes sure that a lease is what it was, and stays so until the
// transaction has ended. nil is no lease at all.
func (t *tx) lockLease(sale string, l *rushgate.Lease) error {
	if l == nil {
		return nil
	}
	if err := t.flush(); err != nil {
		return err
	}
	var one int
	err := t.QueryRowContext(t.ctx, `SELECT 1`+sqlUnder, l.Name, l.Term, l.Holder).Scan(&one)
	if errors.Is(err, sql.ErrNoRows) {
		return leaseLost(sale, l)
	}
	return err
}

func leaseLost(sale string, l *rushgate.Lease) error {
	return &rushgate.BarrierError{Barrier: rushgate.BarrierLease, Sale: sale,
		Detail: fmt.Sprintf("the lease %s is not that of %s in term %d any more", l.Name, l.Holder, l.Term)}
}
