// Package sqlite is the embedded ledger: a [rushgate.Ledger] in one SQLite
// file, with nothing to install.
//
// # Files
//
// A ledger lives in a folder: rushgate.db (with -wal and -shm beside it while
// it is open) and lock, which one process at a time holds. The tables are
// described in migrations/00001_ledger.sql. The ordinary sqlite3 program may
// read them at any time.
//
// # Durability
//
// The journal is a write-ahead log with synchronous=FULL: a commit returns
// after fsync of the log. Where a commit ends with an input/output error,
// nobody can tell from within whether the log holds it; the ledger then closes
// every connection, opens the file as a restart would, and empties the log
// into the database before it reads or writes anything else.
//
// # Connections and goroutines
//
// One connection writes, with prepared statements, under a mutex. A bounded
// pool of connections that cannot write serves the reads, and a second, small
// one the short reads of single rows that selling depends on. One goroutine
// moves the log into the database beside the writer; Close ends it and waits.
package sqlite
