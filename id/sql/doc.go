// Package sql leases the numbers of id nodes in an SQL database, through
// database/sql: PostgreSQL, MySQL or MariaDB, or SQLite. It brings no driver; the
// caller opens the database with one of their own.
//
// Every call is one transaction, which locks the row of its register first and
// reads the database's clock then. The tables are those of Schema, or made by
// CreateTables.
//
// # What a database forgets
//
// What is committed stays, if the database keeps what it commits: fsync and
// synchronous_commit on (PostgreSQL), innodb_flush_log_at_trx_commit=1 (MySQL),
// synchronous=FULL (SQLite), and a standby that takes over has been a synchronous
// one. Unlike Redis, a database does not tell that it was restored from a backup
// or has failed over to a standby that lacks the last commits. Whoever does that
// calls Store.Distrust before nodes reach it again. For a database that may lose
// its tables as a whole, set Options.Grace to a lease.
//
// # SQLite
//
// The clock is that of the machine: nodes share the file, and so the machine. The
// connections should wait for locks (busy_timeout).
package sql
