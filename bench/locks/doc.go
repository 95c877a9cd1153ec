// Package locks measures package lock beside the libraries that people use for
// locks in Redis, on one private Redis and over three, and beside advisory locks by
// hand, on one private PostgreSQL, in one run each: go test -bench . ./bench/locks,
// or the part "locks" of bench/compare.
package locks
