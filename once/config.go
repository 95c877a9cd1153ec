package once

import (
	"errors"
	"fmt"
	"time"
)

// Config says how a Once works. The zero value of each field but Store stands
// for its default; a value out of bounds is an error.
type Config struct {
	// Store keeps the records. Everybody who shall agree uses the same one.
	Store Store

	// Lease is for how long the key stays taken when the process that runs the
	// work dies: others wait that long before one of them takes over. It is
	// renewed at every third of it while the work runs. Default 30 s; 50 ms to 1 h.
	Lease time.Duration

	// Keep is for how long a result is kept after the work was done. Default
	// 24 h; at least 1 ms; Forever: until it is forgotten.
	Keep time.Duration

	// MaxResult bounds a result, in bytes. Default 64 KiB; at most 16 MiB.
	MaxResult int

	// Patience is for how long a caller waits for the result of somebody else.
	// It does not bound the work. Default 30 s.
	Patience time.Duration

	// Waiters bounds the callers that are inside Do at a time, for all keys.
	// Default 10,000; at most 1,000,000.
	Waiters int

	// Timeout is for how long one call of the store may take. Default 3 s, or
	// half of the Lease when that is shorter, which is also the most.
	Timeout time.Duration
}

const (
	leastLease  = 50 * time.Millisecond
	mostLease   = time.Hour
	mostResult  = 16 << 20
	mostWaiters = 1_000_000
)

func (c *Config) complete() {
	c.Lease = otherwise(c.Lease, 30*time.Second)
	c.Keep = otherwise(c.Keep, 24*time.Hour)
	c.MaxResult = otherwise(c.MaxResult, 64<<10)
	c.Patience = otherwise(c.Patience, 30*time.Second)
	c.Waiters = otherwise(c.Waiters, 10_000)
	c.Timeout = otherwise(c.Timeout, min(3*time.Second, c.Lease/2))
}

func otherwise[T comparable](value, standard T) T {
	var none T
	if value == none {
		return standard
	}
	return value
}

func (c *Config) check() error {
	switch {
	case c.Store == nil:
		return errors.New("once: Config.Store is missing")
	case c.Lease < leastLease || c.Lease > mostLease:
		return fmt.Errorf("once: Config.Lease %v: must be %v to %v", c.Lease, leastLease, mostLease)
	case c.Keep < time.Millisecond:
		return fmt.Errorf("once: Config.Keep %v: must be at least %v", c.Keep, time.Millisecond)
	case c.MaxResult < 1 || c.MaxResult > mostResult:
		return fmt.Errorf("once: Config.MaxResult %d: must be 1 to %d bytes", c.MaxResult, mostResult)
	case c.Patience < 0:
		return fmt.Errorf("once: Config.Patience %v: must not be negative", c.Patience)
	case c.Waiters < 1 || c.Waiters > mostWaiters:
		return fmt.Errorf("once: Config.Waiters %d: must be 1 to %d", c.Waiters, mostWaiters)
	case c.Timeout <= 0 || c.Timeout > c.Lease/2:
		return fmt.Errorf("once: Config.Timeout %v: must be positive, and at most half of the lease of %v", c.Timeout, c.Lease)
	}
	return nil
}
