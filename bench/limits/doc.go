// Package limits measures package limit beside the libraries that people use
// now, in one run: `go run ./bench/compare --only limits`, or
//
//	go test -bench . ./bench/limits
//
// In memory: golang.org/x/time/rate in a map with a lock, which is how it is
// used for many keys (and never forgets one), and throttled/v2 with its memory
// store. In Redis: go-redis/redis_rate, on the same private server. All hold
// token buckets. Keys are one hot one that is always granted, one that is nearly
// always refused, and many; callers are one and 64.
package limits
