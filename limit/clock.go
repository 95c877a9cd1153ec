package limit

import "time"

// clock tells microseconds since 1970.
type clock struct {
	read  func() time.Time // nil: the monotonic clock
	began time.Time
	base  int64 // began, in microseconds
}

func newClock(read func() time.Time) *clock {
	began := time.Now()
	return &clock{read: read, began: began, base: began.UnixMicro()}
}

// now is read under the lock of what it decides about: otherwise one who waited
// for the lock would come with a time that has passed, as if the clock had gone
// back.
func (c *clock) now() int64 {
	if c.read != nil {
		return max(c.read().UnixMicro(), 1)
	}
	return c.base + time.Since(c.began).Microseconds()
}
