package sqlite

import (
	"database/sql"
	"time"
)

// millis is how the ledger writes a moment that is always there.
func millis(t time.Time) int64 { return t.UnixMilli() }

// orNull is how the ledger writes a moment that may be absent.
func orNull(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixMilli()
}

// moment reads what orNull wrote.
func moment(ms sql.NullInt64) time.Time {
	if !ms.Valid {
		return time.Time{}
	}
	return time.UnixMilli(ms.Int64).UTC()
}

// whole cuts a moment down to what the ledger keeps of it: milliseconds, UTC.
func whole(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return time.UnixMilli(t.UnixMilli()).UTC()
}
