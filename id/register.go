package id

import (
	"fmt"
	"time"
)

// Register is the rule by which every store gives numbers out, without a clock
// and without input and output. Memory keeps one; id/sql reads one from its
// tables; the scripts of id/redis say the same in Lua, and are tested against it.
// It is for whoever writes a store.
type Register struct {
	Layout  string         // of those who use the numbers; "" in a new register
	FloorMs int64          // no window begins before
	Numbers map[int]Record // those that have ever been given out
}

// Record is what is known of a number.
type Record struct {
	Owner           string // "" if it has been released
	FromMs, UntilMs int64  // the window of the owner, or the end of the last one
}

// Acquire grants a lease. fresh says how long after now the first windows begin
// in a register that is new: see "What a store forgets" in the package comment.
func (r *Register) Acquire(nowMs int64, q Request, fresh time.Duration) (Lease, error) {
	if err := r.check(nowMs, &q); err != nil {
		return Lease{}, err
	}
	if r.Layout == "" {
		r.Layout = q.Layout.String()
		r.Distrust(nowMs, fresh)
	}
	if r.Numbers == nil {
		r.Numbers = map[int]Record{}
	}
	best := -1
	for n := range q.Layout.Nodes() {
		rec := r.Numbers[n]
		if rec.Owner == q.Owner {
			return r.grant(nowMs, n, rec, &q), nil
		}
		if free := rec.Owner == "" || rec.UntilMs <= nowMs; free && (best < 0 || rec.UntilMs < r.Numbers[best].UntilMs) {
			best = n
		}
	}
	if best < 0 {
		return Lease{}, NoNumber(q.Layout)
	}
	return r.grant(nowMs, best, Record{Owner: q.Owner, FromMs: max(nowMs, r.Numbers[best].UntilMs)}, &q), nil
}

// Distrust says that windows may have been granted that the register does not
// know: none that it grants from now on begins before now plus grace.
func (r *Register) Distrust(nowMs int64, grace time.Duration) {
	r.FloorMs = max(r.FloorMs, nowMs+grace.Milliseconds())
}

// Renew extends a window. It may have been over for long: if nobody else has got
// the number, nobody else has a window there.
func (r *Register) Renew(nowMs int64, number int, q Request) (Lease, error) {
	if err := r.check(nowMs, &q); err != nil {
		return Lease{}, err
	}
	rec := r.Numbers[number]
	if rec.Owner != q.Owner {
		return Lease{}, Lost(number)
	}
	return r.grant(nowMs, number, rec, &q), nil
}

// Release gives a number back, and says whether the owner had it.
func (r *Register) Release(number int, owner string, usedMs int64) bool {
	rec := r.Numbers[number]
	if rec.Owner != owner || owner == "" {
		return false
	}
	rec.UntilMs = min(max(usedMs, rec.FromMs), rec.UntilMs)
	rec.Owner = ""
	r.Numbers[number] = rec
	return true
}

// grant writes a record down. A window ends no earlier than was said before. It
// begins later than was said if the register has been distrusted since: somebody
// else, whom it has forgotten, may have had the number.
func (r *Register) grant(nowMs int64, number int, rec Record, q *Request) Lease {
	rec.FromMs = max(rec.FromMs, r.FloorMs)
	rec.UntilMs = max(rec.UntilMs, max(nowMs, rec.FromMs)+q.TTL.Milliseconds())
	r.Numbers[number] = rec
	return Lease{Number: number, Owner: rec.Owner, FromMs: rec.FromMs, UntilMs: rec.UntilMs, NowMs: nowMs}
}

func (r *Register) check(nowMs int64, q *Request) error {
	if err := q.Validate(); err != nil {
		return err
	}
	return q.Agree(nowMs, r.Layout)
}

// Agree is an error if clock or layout of a request do not fit the store's: "" is
// the layout of a store that has none yet.
func (q *Request) Agree(nowMs int64, layout string) error {
	if off := q.ClockMs - nowMs; max(off, -off) > q.SkewMs {
		return fmt.Errorf("id: %w: it is %s at the node and %s at the store, which may be %d ms apart", ErrClock, at(q.ClockMs), at(nowMs), q.SkewMs)
	}
	if layout != "" && layout != q.Layout.String() {
		return fmt.Errorf("id: %w: they use %s, this node %s", ErrLayout, layout, q.Layout)
	}
	return nil
}

// at writes a time as errors show it.
func at(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z") }

// NoNumber returns the error of a store whose numbers are all taken.
func NoNumber(l Layout) error {
	return fmt.Errorf("id: %w (%d): close a node, or wait until the lease of one that has crashed is over", ErrNoNumber, l.Nodes())
}

// Lost returns the error of a store in which somebody else, or nobody, has a number.
func Lost(number int) error { return fmt.Errorf("id: number %d: %w", number, ErrLost) }
