package limit

import (
	"fmt"
	"time"
)

// Kind names the algorithm of a policy.
type Kind byte

// The kinds of policies. A store may write the letter into the names of its keys.
const (
	KindGCRA    Kind = 'g' // token bucket
	KindFixed   Kind = 'f' // fixed window from a key's first take
	KindAligned Kind = 'a' // fixed window by the calendar
	KindCounter Kind = 'c' // sliding window, two counters
	KindLog     Kind = 's' // sliding window, log of grants
)

// Bounds of policies.
const (
	MaxUnits  int64 = 1e12                       // of a limit, a burst, a rate and a take
	MinWindow       = time.Millisecond           // of a window
	MaxWindow       = 10 * 366 * 24 * time.Hour  // of a window and of a rate's period
	MaxRefill       = 100 * 366 * 24 * time.Hour // of a bucket from empty to full
	MaxKey          = 512                        // bytes of a key
)

// Policy is a rule of how much is granted: an algorithm and its numbers. It is a
// value without state, made by GCRA, FixedWindow, AlignedWindow, SlidingWindow,
// SlidingWindowGrain or SlidingCounter. Whether its numbers make sense is said
// by Validate, which every store calls before it takes a policy.
type Policy struct {
	kind   Kind
	limit  int64
	rate   Rate
	window time.Duration
	grain  time.Duration

	// A bucket refills a units in b microseconds (in lowest terms), and from
	// empty to full in the time full.
	a, b int64
	full span
	unit span // what one unit takes
}

// Rate is so many units in so much time.
type Rate struct {
	Units int64
	Per   time.Duration
}

// Per is a rate of so many units in a period.
func Per(units int64, period time.Duration) Rate { return Rate{Units: units, Per: period} }

// PerSecond is a rate of so many units in a second.
func PerSecond(units int64) Rate { return Per(units, time.Second) }

// PerMinute is a rate of so many units in a minute.
func PerMinute(units int64) Rate { return Per(units, time.Minute) }

// PerHour is a rate of so many units in an hour.
func PerHour(units int64) Rate { return Per(units, time.Hour) }

// GCRA is a token bucket that holds burst units and refills evenly at a rate: in
// any time t it grants at most burst + rate·t units. It is the generic cell rate
// algorithm of ITU-T I.371, which keeps one time instead of a level: state is 16
// bytes for a key, whatever the numbers.
func GCRA(rate Rate, burst int64) Policy {
	p := Policy{kind: KindGCRA, limit: burst, rate: rate}
	if p.check() == nil {
		p.a, p.b = lowest(1000*rate.Units, int64(rate.Per))
		us, frac := mulDiv(1, p.b, p.a)
		p.unit = span{us, frac}
		p.full = p.cost(burst)
	}
	return p
}

// FixedWindow grants n units in a window that begins with a key's first take.
// When it is over, the next take begins a new one. Around the end of a window, a
// time as long as a window can see up to 2n.
func FixedWindow(n int64, window time.Duration) Policy {
	return Policy{kind: KindFixed, limit: n, window: window}
}

// AlignedWindow grants n units in each window of the calendar: windows begin at
// whole multiples of their length since 1970-01-01T00:00Z, for all keys at once.
// It is for quotas, "1000 a day", whose end everybody knows. Like FixedWindow it
// can grant 2n around the end of a window.
func AlignedWindow(n int64, window time.Duration) Policy {
	return Policy{kind: KindAligned, limit: n, window: window}
}

// SlidingWindow grants n units in any time as long as the window, exactly: it
// keeps a log of all grants of the last window. A unit comes back to the
// microsecond when its window has passed. It costs one entry for each grant, up
// to n for a key (16 bytes in memory, about 30 in Redis): for small n.
func SlidingWindow(n int64, window time.Duration) Policy {
	return SlidingWindowGrain(n, window, time.Microsecond)
}

// SlidingWindowGrain is SlidingWindow with a bounded log: grants in the same
// grain of time share an entry, and count from the latest of them. It still
// never grants more than n in any time as long as the window; a unit may come
// back up to a grain late. A key has at most window/grain + 1 entries.
func SlidingWindowGrain(n int64, window, grain time.Duration) Policy {
	return Policy{kind: KindLog, limit: n, window: window, grain: grain}
}

// SlidingCounter keeps two numbers: the grants of this window of the calendar
// and of the last one, of which it counts the share that a window ending now
// still covers, rounded up. It is exact when the last window's grants came
// evenly; when they came all at its end, a time as long as a window can see
// nearly 2n, and when they came at its beginning, units come back late. State is
// 24 bytes for a key, whatever n.
func SlidingCounter(n int64, window time.Duration) Policy {
	return Policy{kind: KindCounter, limit: n, window: window}
}

// Kind returns the algorithm.
func (p Policy) Kind() Kind { return p.kind }

// Limit returns the most units that can be taken at once: the burst of a bucket,
// the n of a window.
func (p Policy) Limit() int64 { return p.limit }

// Rate returns a bucket's rate.
func (p Policy) Rate() Rate { return p.rate }

// Grain returns within what time grants share an entry of a sliding log.
func (p Policy) Grain() time.Duration { return p.grain }

// Window returns the length of the window; for a bucket, how long it takes to
// refill from empty, rounded up to a microsecond.
func (p Policy) Window() time.Duration {
	if p.kind == KindGCRA {
		return micros(p.full.ceil())
	}
	return p.window
}

// String says what the policy grants.
func (p Policy) String() string {
	switch p.kind {
	case KindGCRA:
		return fmt.Sprintf("%d per %s, burst %d", p.rate.Units, p.rate.Per, p.limit)
	case KindFixed:
		return fmt.Sprintf("%d per window of %s", p.limit, p.window)
	case KindAligned:
		return fmt.Sprintf("%d per aligned window of %s", p.limit, p.window)
	case KindCounter:
		return fmt.Sprintf("about %d in any %s", p.limit, p.window)
	case KindLog:
		return fmt.Sprintf("%d in any %s, grain %s", p.limit, p.window, p.grain)
	}
	return "no policy"
}
