package limittest

import (
	"sort"
	"time"
)

// wait returns the first time, in microseconds from now, at which something is
// true that stays true.
func wait(longest int64, is func(int64) bool) time.Duration {
	return time.Duration(first(longest, is)) * time.Microsecond
}

// most returns the greatest number of units for which something is true.
func most(limit int64, is func(int64) bool) int64 {
	return first(limit, func(n int64) bool { return !is(n + 1) })
}

func first(bound int64, is func(int64) bool) int64 {
	return int64(sort.Search(int(bound), func(i int) bool { return is(int64(i)) }))
}
