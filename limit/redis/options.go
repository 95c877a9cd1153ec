package redis

import (
	"fmt"
	"time"

	"rushgate/limit"
)

// Options are what a limiter is made with. The zero value of every field means
// its default.
type Options struct {
	// Prefix begins every key; default "limit:". Programs that share a Redis
	// have different ones, or share their limits.
	Prefix string

	// Slot is a hash tag that all keys have in common, so that a cluster keeps
	// them on one server. A Joint must have one: its rules are decided in one
	// step, which no two servers can take. A Limiter without one is spread over
	// the cluster. The same rule in another slot is another limit.
	Slot string

	// Timeout bounds every call, with the context's own deadline; default
	// 250 ms. After it the error is limit.ErrUnavailable.
	Timeout time.Duration
}

// Bounds of the options.
const (
	maxPrefix  = 64 // bytes, of the slot too
	minTimeout = time.Millisecond
	maxTimeout = time.Minute
)

func (o *Options) complete() error {
	if o.Prefix == "" {
		o.Prefix = "limit:"
	}
	if o.Timeout == 0 {
		o.Timeout = 250 * time.Millisecond
	}
	if !plain(o.Prefix) {
		return fmt.Errorf("%w Prefix: %q is not up to %d visible ASCII characters without braces", limit.ErrInvalid, o.Prefix, maxPrefix)
	}
	if !plain(o.Slot) {
		return fmt.Errorf("%w Slot: %q is not up to %d visible ASCII characters without braces", limit.ErrInvalid, o.Slot, maxPrefix)
	}
	if o.Timeout < minTimeout || o.Timeout > maxTimeout {
		return fmt.Errorf("%w Timeout: it must be %s to %s, not %s", limit.ErrInvalid, minTimeout, maxTimeout, o.Timeout)
	}
	return nil
}

// plain keeps braces out: they choose the cluster's slot.
func plain(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] <= ' ' || s[i] > '~' || s[i] == '{' || s[i] == '}' {
			return false
		}
	}
	return len(s) <= maxPrefix
}
