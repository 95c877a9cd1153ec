package limit

import "time"

// Result is the answer of one limit.
type Result struct {
	// Granted says that the units were taken (by Take), would be (by Peek), or
	// that this limit alone would not have stood in the way (in a Verdict).
	Granted bool

	// Limit is the most that can be taken at once, and Remaining what could be
	// taken now, after this.
	Limit, Remaining int64

	// RetryAfter is 0 when granted. Otherwise the same units will be granted
	// after this time, if nobody takes any before, and not earlier.
	RetryAfter time.Duration

	// Reset is the time until the whole limit is available again, if nobody
	// takes any before; 0 when it is now.
	Reset time.Duration

	receipt Receipt
}

// Receipt is what a store must know to give units back: what was taken, when,
// and the key's standing after it. A store that is written elsewhere sends it
// back as it got it.
type Receipt struct {
	Units int64
	At    int64 // microseconds since 1970, on the store's clock
	Standing
}

// Receipt returns what was taken. It is empty if nothing was.
func (r Result) Receipt() Receipt { return r.receipt }

// Verdict is the answer of several limits that were asked together.
type Verdict struct {
	// Granted says that every limit granted; otherwise none took anything.
	Granted bool

	// RetryAfter is the longest of those of the limits that refused: before it,
	// the same asks will not be granted.
	RetryAfter time.Duration

	// Results are in the order of the rules. That of a rule that was not asked,
	// because its key was empty, is the zero Result with Granted set.
	Results []Result
}

// verdict sums up.
func verdict(results []Result) Verdict {
	v := Verdict{Granted: true, Results: results}
	for i := range results {
		if r := &results[i]; !r.Granted {
			v.Granted, v.RetryAfter = false, max(v.RetryAfter, r.RetryAfter)
		}
	}
	return v
}

// NewVerdict sums up the answers of several limits, for stores that are written
// elsewhere.
func NewVerdict(results []Result) Verdict { return verdict(results) }
