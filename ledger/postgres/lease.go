package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"rushgate"
)

// The bounds of what a lease says, in bytes.
const (
	maxLeaseName = 100
	maxHolder    = 100
	maxNote      = 500
	maxHeld      = 10_000 // leases that Held lists
	maxTTL       = 24 * 365 * time.Hour
)

const (
	leaseColumns = `name, holder, note, term, (extract(epoch FROM expires_at - clock_timestamp()) * 1000000)::bigint`

	// The holder's own lease, before it is over. Its name and term stay, so that
	// this does not wait for what is being written under it.
	sqlExtend = `UPDATE leases SET note = $3, expires_at = clock_timestamp() + $4 * interval '1 microsecond'
		WHERE name = $1 AND holder = $2 AND expires_at > clock_timestamp() RETURNING ` + leaseColumns

	// A lease that is over. FOR UPDATE waits for the end of what is being
	// written under it, and lets nobody begin. What was seized is taken over, and
	// nothing else: to ask again whether it is over would find one that has ended
	// in between, and pass those who write under it.
	sqlSeize    = `SELECT 1 FROM leases WHERE name = $1 AND expires_at <= clock_timestamp() FOR UPDATE`
	sqlTakeOver = `UPDATE leases SET holder = $2, note = $3, term = term + 1, expires_at = clock_timestamp() + $4 * interval '1 microsecond'
		WHERE name = $1 RETURNING ` + leaseColumns

	// A lease that nobody has ever had.
	sqlFirst = `INSERT INTO leases (name, holder, note, term, expires_at)
		VALUES ($1, $2, $3, 1, clock_timestamp() + $4 * interval '1 microsecond')
		ON CONFLICT (name) DO NOTHING RETURNING ` + leaseColumns

	sqlLease   = `SELECT ` + leaseColumns + ` FROM leases WHERE name = $1`
	sqlRelease = `UPDATE leases SET expires_at = clock_timestamp(), holder = '' WHERE name = $1 AND holder = $2 AND term = $3`
	sqlHeld    = `SELECT ` + leaseColumns + ` FROM leases WHERE starts_with(name, $1) AND expires_at > clock_timestamp()
		ORDER BY name LIMIT $2`

	// Whoever writes under a lease has its row until the commit, together with
	// others of the same holder: a change of hands waits for all of them.
	sqlKeep = `SELECT 1 FROM leases WHERE name = $1 AND holder = $2 AND term = $3 FOR KEY SHARE`
)

func scanLease(row pgx.CollectableRow) (rushgate.Lease, error) {
	var l rushgate.Lease
	var left int64 // microseconds
	err := row.Scan(&l.Name, &l.Holder, &l.Note, &l.Term, &left)
	l.Left = time.Duration(max(left, 0)) * time.Microsecond
	return l, err
}

func checkLease(l rushgate.Lease, ttl time.Duration) error {
	switch {
	case l.Name == "" || len(l.Name) > maxLeaseName:
		return fmt.Errorf("a lease's name has 1 to %d bytes", maxLeaseName)
	case l.Holder == "" || len(l.Holder) > maxHolder:
		return fmt.Errorf("a lease's holder has 1 to %d bytes", maxHolder)
	case len(l.Note) > maxNote:
		return fmt.Errorf("a lease's note has at most %d bytes", maxNote)
	case ttl < time.Millisecond || ttl > maxTTL:
		return fmt.Errorf("a lease lasts 1ms to a year, not %s", ttl)
	}
	return nil
}

// Acquire implements [rushgate.Leases]. It waits for the end of what the holder
// before is in the middle of writing, at most LockWait. Rows of leases are never
// deleted: names should be those of roles and nodes, not made up each time.
func (l *Ledger) Acquire(ctx context.Context, want rushgate.Lease, ttl time.Duration) (got rushgate.Lease, held bool, err error) {
	if err := checkLease(want, ttl); err != nil {
		return rushgate.Lease{}, false, err
	}
	err = l.leasing(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		got, held, err = acquire(ctx, conn, want, ttl)
		return err
	})
	return got, held, l.wrap("acquire lease "+want.Name, err)
}

func acquire(ctx context.Context, conn *pgx.Conn, want rushgate.Lease, ttl time.Duration) (rushgate.Lease, bool, error) {
	args := []any{want.Name, want.Holder, want.Note, ttl.Microseconds()}
	got, err := one(ctx, conn, scanLease, sqlExtend, args...)
	if !isNoRows(err) {
		return got, err == nil, err
	}
	if got, err = takeOver(ctx, conn, args); !isNoRows(err) {
		return got, err == nil, err
	}
	got, err = one(ctx, conn, scanLease, sqlLease, want.Name)
	return got, false, err
}

// takeOver takes a lease that is free or over; otherwise the error is that there
// is no row.
func takeOver(ctx context.Context, conn *pgx.Conn, args []any) (got rushgate.Lease, err error) {
	read := func(rows pgx.Rows) (err error) {
		got, err = pgx.CollectExactlyOneRow(rows, scanLease)
		return err
	}
	err = pgx.BeginTxFunc(ctx, conn, pgx.TxOptions{IsoLevel: pgx.ReadCommitted}, func(pgx.Tx) error {
		seized := false
		p := pipe{conn: conn}
		p.exec(func(rows int64, err error) error {
			seized = rows > 0
			return err
		}, sqlSeize, args[0])
		p.query(read, sqlFirst, args...)
		err := p.flush(ctx)
		if seized && isNoRows(err) {
			p.query(read, sqlTakeOver, args...)
			err = p.flush(ctx)
		}
		return err
	})
	return got, err
}

// Release implements [rushgate.Leases]. Nothing can be written under the lease
// afterwards.
func (l *Ledger) Release(ctx context.Context, lease rushgate.Lease) error {
	return l.wrap("release lease "+lease.Name, l.leasing(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, sqlRelease, lease.Name, lease.Holder, lease.Term)
		return err
	}))
}

// Held implements [rushgate.Leases]. It lists up to 10,000.
func (l *Ledger) Held(ctx context.Context, prefix string) (held []rushgate.Lease, err error) {
	ctx, cancel := context.WithTimeout(ctx, l.opts.Patience)
	defer cancel()
	err = readFrom(ctx, l.leases, func() error {
		held, err = list(ctx, l.leases, scanLease, sqlHeld, prefix, maxHeld)
		return err
	})
	return held, l.wrap("list the leases", err)
}

// leasing calls f with a connection of those for leases: a flood of reads must
// not delay a renewal until the lease is over. A deadlock between two who take
// the same lease is tried again.
func (l *Ledger) leasing(ctx context.Context, f func(context.Context, *pgx.Conn) error) (err error) {
	if l.w == nil {
		return errReadOnly
	}
	ctx, cancel := context.WithTimeout(ctx, l.opts.whole())
	defer cancel()
	for range attempts {
		err = readFrom(ctx, l.leases, func() error {
			conn, err := l.leases.Acquire(ctx)
			if err != nil {
				return err
			}
			defer conn.Release()
			return f(ctx, conn.Conn())
		})
		if !again(err) {
			break
		}
	}
	return err
}

// guard is the lease under which something is written, and the sale that it is
// written to.
type guard struct {
	lease rushgate.Lease
	sale  string
}

// keep refuses the transaction if the lease has changed hands, and lets it not
// change hands until the transaction has ended. A lease that is over, and that
// nobody has taken, is still the holder's.
func (t *tx) keep(g *guard) {
	t.exec(func(rows int64, err error) error {
		if err == nil && rows == 0 {
			return &rushgate.BarrierError{Barrier: rushgate.BarrierLease, Sale: g.sale,
				Detail: fmt.Sprintf("%q has lost the lease %q of term %d", g.lease.Holder, g.lease.Name, g.lease.Term)}
		}
		return err
	}, sqlKeep, g.lease.Name, g.lease.Holder, g.lease.Term)
}

// Under implements [rushgate.Leases].
func (l *Ledger) Under(lease rushgate.Lease) rushgate.Ledger { return &leased{l, lease} }

// leased is a ledger as the holder of a lease has it.
type leased struct {
	*Ledger
	lease rushgate.Lease
}

// Record implements [rushgate.Ledger].
func (l *leased) Record(ctx context.Context, b *rushgate.Batch) error {
	return l.record(ctx, &guard{l.lease, firstSale(b)}, b)
}

// Fence implements [rushgate.Ledger].
func (l *leased) Fence(ctx context.Context, sale string, was int64) (*rushgate.Sale, bool, error) {
	return l.fence(ctx, &guard{l.lease, sale}, sale, was)
}

// Close closes nothing: the ledger may be used under other leases.
func (l *leased) Close() error { return nil }
