package rushgate

import (
	"context"
	"time"
)

// Leases is what a ledger offers that several nodes share: names that one of
// them holds for a while, by the database's clock, which is the only one that
// all of them see.
//
// A lease alone protects nothing: its holder may be paused, and wake up when
// somebody else has it. Its term does: it grows with every change of hands, and
// what is written Under a lease is refused, inside the transaction, once the
// term is another.
type Leases interface {
	// Acquire takes a lease that is free or over, or extends the holder's own,
	// for ttl from now. The term grows whenever a lease that was not held by
	// this holder, or was over, is taken. When somebody else holds it, Acquire
	// returns that lease, and held is false.
	Acquire(ctx context.Context, want Lease, ttl time.Duration) (got Lease, held bool, err error)

	// Release gives a lease back before its time, if the term is still the same.
	Release(ctx context.Context, l Lease) error

	// Held lists the leases with a prefix that are not over, by name.
	Held(ctx context.Context, prefix string) ([]Lease, error)

	// Under returns the same ledger, which refuses to write anything
	// (BarrierLease) once the lease has changed hands. Closing it closes nothing.
	Under(l Lease) Ledger
}

// Lease is a name that somebody holds for a while.
type Lease struct {
	Name   string        // at most 100 bytes
	Holder string        // who, unique among all that may ever want it; at most 100 bytes
	Note   string        // what others may want to know about the holder; at most 500 bytes
	Term   int64         // from 1; written by Acquire
	Left   time.Duration // until it is over, at the moment of the answer; written by Acquire and Held
}
