package lock

import (
	"errors"
	"strings"
	"time"
	"unicode/utf8"
)

// Options are what a Locker is made with. The zero value of every field means
// its default.
type Options struct {
	// Lease is how long a lock lasts at the server after the last sign of life
	// of its holder, MinLease to MaxLease; default 10 s. It is renewed after
	// each third. A short one is free again sooner when its holder has died; a
	// long one survives longer pauses and outages.
	Lease time.Duration

	// Timeout bounds one exchange with the server; default a quarter of the
	// lease, but at most 1 s. It must be less than half of the lease, so that
	// there is a second attempt.
	Timeout time.Duration

	// MaxWait bounds a wait for a lock, beside the context; default 1 min, at
	// most 24 h.
	MaxWait time.Duration

	// MaxWaiters is how many may wait for one key; the next one is refused by
	// ErrLineFull. Default 1,000, at most MaxLine.
	MaxWaiters int

	// Deaf, if set, is told why those who wait hear of no grants: the right to
	// subscribe is missing, or a connection was lost. Until it is mended they get their
	// locks by asking, each third of a lease. It is called once each time, by
	// one goroutine, and must not block.
	Deaf func(error)
}

const (
	defaultLease      = 10 * time.Second
	longestTimeout    = time.Second
	defaultMaxWait    = time.Minute
	longestWait       = 24 * time.Hour
	defaultMaxWaiters = 1000
)

// complete fills in the defaults and says what is wrong.
func (o *Options) complete() error {
	if o.Lease == 0 {
		o.Lease = defaultLease
	}
	if o.Timeout == 0 {
		o.Timeout = min(longestTimeout, o.Lease/4)
	}
	if o.MaxWait == 0 {
		o.MaxWait = defaultMaxWait
	}
	if o.MaxWaiters == 0 {
		o.MaxWaiters = defaultMaxWaiters
	}
	var errs []error
	errs = append(errs, checkLease(o.Lease), checkWait(o.MaxWait))
	if o.Timeout < time.Millisecond || o.Timeout >= o.Lease/2 {
		errs = append(errs, invalid("Timeout must be 1ms or more, and less than half of the lease of %s, not %s", o.Lease, o.Timeout))
	}
	if o.MaxWaiters < 1 || o.MaxWaiters > MaxLine {
		errs = append(errs, invalid("MaxWaiters must be 1 to %d, not %d", MaxLine, o.MaxWaiters))
	}
	return errors.Join(errs...)
}

func checkLease(d time.Duration) error {
	if d < MinLease || d > MaxLease {
		return invalid("a lease must be %s to %s, not %s", MinLease, MaxLease, d)
	}
	return nil
}

func checkWait(d time.Duration) error {
	if d < time.Millisecond || d > longestWait {
		return invalid("MaxWait must be 1ms to %s, not %s", longestWait, d)
	}
	return nil
}

// Option is something special about one call.
type Option func(*wish)

// wish is a call in the making.
type wish struct {
	Claim
	maxWait time.Duration
	once    bool // the lease is not renewed
	err     error
}

// As names the owner of the lock. Who holds a lock as an owner gets it again as
// the same one, at once and with the same fence, in any process; it is free
// after as many calls of Unlock. An owner has 1 to MaxOwner bytes and does not
// begin with "~". Without As every call is an owner of its own.
//
// The same owner is the same thread of work: two goroutines that lock as the
// same owner do not exclude each other.
func As(owner string) Option {
	return func(w *wish) {
		if !wellFormed(owner, MaxOwner) || strings.HasPrefix(owner, anonymous) {
			w.err = invalid("an owner must be 1 to %d bytes of text and not begin with %q, not %q", MaxOwner, anonymous, owner)
		}
		w.Owner = owner
	}
}

// WithLease gives this lock a lease of its own instead of Options.Lease. It
// must be more than twice Options.Timeout.
func WithLease(d time.Duration) Option {
	return func(w *wish) { w.Lease = d }
}

// WithMaxWait bounds the wait for this lock instead of Options.MaxWait.
func WithMaxWait(d time.Duration) Option {
	return func(w *wish) {
		w.maxWait = d
		if err := checkWait(d); err != nil {
			w.err = err
		}
	}
}

// WithoutRenewal lets the lock end with its first lease, whatever its holder
// does: for work that must not hold up others for longer. The lease is that of the
// latest sign of life: after a wait in the line up to a third of it may be over.
func WithoutRenewal() Option {
	return func(w *wish) { w.once = true }
}

// anonymous begins the names of owners that nobody has named.
const anonymous = "~"

// wellFormed says that a key or an owner is text of some length. Braces are
// left out, which choose the slot in a Redis Cluster, and control characters
// and spaces, which servers and people take for the end of a name.
func wellFormed(s string, most int) bool {
	if len(s) < 1 || len(s) > most || !utf8.ValidString(s) {
		return false
	}
	for i := 0; i < len(s); i++ {
		if s[i] <= ' ' || s[i] == 0x7f || s[i] == '{' || s[i] == '}' {
			return false
		}
	}
	return true
}
