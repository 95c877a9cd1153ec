// Package mysql is the ledger in MySQL 8 or MariaDB: a [rushgate.Ledger] that
// several nodes share, with [rushgate.Leases]. It asks for MariaDB 10.6 or MySQL
// 8.0.16, and is tested with MariaDB 10.11 alone: the SQL keeps to what the
// documentation of both families promises, but no test of ours has seen MySQL.
//
// # Durability
//
// A commit returns after the redo log is on the disk, if the server is set so:
// innodb_flush_log_at_trx_commit must be 1 and, where a binary log is kept,
// sync_binlog 1. [Probe] tells whether they are. A server without
// a binary log shows a commit to others a moment before it is on the disk. Who
// recorded it hears of it only afterwards, so no acknowledgement depends on that
// moment; but a reader of events may, if the server loses its power just then,
// have seen the events of a batch that was never recorded.
//
// # Order
//
// A batch takes the row locks of its sales first, in the order of their ids, and
// keeps them until its commit has ended. So the event numbers of a sale become
// visible in their order: whoever has seen a number never finds a lower one
// later, though the batches of several nodes overlap in time.
//
// # Barriers
//
// Every transaction runs at READ COMMITTED, which suffices, as each barrier is a
// condition of the very statement that writes (or a unique key) under the sale's
// lock: the epoch and the version in the UPDATE of the sale, the stock in that
// of the item and in a CHECK, slots, keys and ids in unique keys. Deadlocks and
// time-outs of locks are tried again a few times.
//
// # Commits with an unknown end
//
// When the connection is lost during COMMIT, the server may carry it out later
// on. [Ledger.Recorded] therefore does not look for the batch: it inserts the
// same id, and so waits behind the lock of whatever transaction may still be
// there, until that one has ended either way.
//
// # Connections and goroutines
//
// Four bounded pools: one for batches, one for long reads, and small ones for the
// short reads and the leases that selling depends on. A connection that was
// lost, or whose server has restarted, is replaced by itself. The server ends
// the transaction of a client that has fallen silent after 5 seconds.
// The package starts no goroutine but those of database/sql and the driver.
package mysql
