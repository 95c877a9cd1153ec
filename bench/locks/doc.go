// Package locks measures package lock beside the libraries that people use for
// locks in Redis, on one private Redis, in one run: go test -bench . ./bench/locks,
// or the part "locks" of bench/compare.
package locks
