// Package lab holds the classic ways to sell limited stock, as they stand in
// articles, interviews and public projects, beside Rushgate's own: each in a
// file of its own, with why it holds or breaks.
//
//	redis_*.go     counters in Redis
//	lock_*.go      read, change and write under a lock
//	sql_*.go       a row in PostgreSQL, MariaDB or SQLite
//	rushgate_*.go  ours
//
// Package trial lets the same crowd in on each of them, kills and pauses the
// sellers, lets an operator change the stock in the middle, and counts what the
// buyers heard against what was written down. Package stage starts the servers,
// package report shows the outcome. `rushgate lab` is all of it together.
//
// The ways are written to be read and measured, not to be used: their mistakes
// are the point, and are kept.
package lab
