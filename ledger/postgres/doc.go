// Package postgres is a ledger on PostgreSQL (13 or newer): a [rushgate.Ledger]
// that any number of nodes share, and the [rushgate.Leases] by which they agree.
//
// # Tables
//
// They are described in migrations/00001_ledger.sql, and live in the schema that
// the user's search_path names first. Open makes them, and brings older ones up
// to date, one node at a time. Everybody may read them at any time.
//
// # Order
//
// Whoever writes events of a sale takes their numbers from the sale's row, and
// has that row until the commit. So the numbers of a sale become visible in
// their order: who remembers the highest number that he has seen never skips a
// lower one that is committed later.
//
// A transaction locks all its sales at once, in the order of their ids, and
// touches stock, claims and events of a sale only while it has the sale. The
// claims of grants alone are written before that, because they are most of the
// work and need no order: so several nodes that sell the same sale wait for each
// other only for what must be one after the other. docs/adr/0006-postgres.md has
// the figures.
//
// # Durability
//
// A commit returns when the server has it on its disk: synchronous_commit is set
// to on in every session where it was off. With fsync=off the server itself does
// not keep that promise; Facts tells. A COMMIT without an answer is found again
// by its batch id (Recorded), also when it is still on its way.
//
// Where the server has a synchronous standby, a commit returns when that has it
// too. While it is away nothing is acknowledged: when Patience is over the batch is
// ErrUnknown, and for Recorded an error until the standby is back. Nobody can read
// it before, and its sale waits for it. Whoever cancels the wait by hand, or
// starts the server again, makes it readable on the primary alone; Recorded goes
// on saying that it does not know.
//
// # Time
//
// Nothing waits without bound. The settings of a session are in session.go: for
// somebody else's lock it waits LockWait (5 seconds); a transaction in which
// nothing happens for 3 seconds is ended by the server, so that a node that was
// paused in the middle holds nobody up for longer; and a server that is silent for
// Patience (10 seconds) is given up. These settings travel as startup parameters: a
// connection pooler between must know them, and must keep a session together
// (PgBouncer: pool_mode=session; to ignore the parameters is not enough).
//
// # Connections and goroutines
//
// Four bounded pools: for batches, for reads of any length, and two small ones for
// what those may not hold up: the short reads that selling depends on, and leases,
// which a flood of short reads may not delay. A connection that breaks is replaced
// at the next call. The pools own their goroutines; Close ends them and waits.
package postgres
