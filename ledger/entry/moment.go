package entry

import (
	"database/sql"
	"time"
)

// Millis is how a ledger writes a moment that is always there.
func Millis(t time.Time) int64 { return t.UnixMilli() }

// OrNull is how a ledger writes a moment that may be absent.
func OrNull(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixMilli()
}

// Moment reads what OrNull wrote.
func Moment(ms sql.NullInt64) time.Time {
	if !ms.Valid {
		return time.Time{}
	}
	return time.UnixMilli(ms.Int64).UTC()
}

// Whole cuts a moment down to what a ledger keeps of it: Milliseconds, UTC.
func Whole(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return time.UnixMilli(t.UnixMilli()).UTC()
}
