package id

import (
	"database/sql/driver" // the interfaces alone: nothing here reaches a database
	"fmt"
)

// Value stores an id as a BIGINT. A negative one is an error.
func (id ID) Value() (driver.Value, error) {
	if id < 0 {
		return nil, fmt.Errorf("id: %d is %w: it is negative", int64(id), ErrText)
	}
	return int64(id), nil
}

// Scan reads an id from a BIGINT, or from its decimal form. NULL is an error: who
// may have none scans into a *ID or a sql.Null[ID].
func (id *ID) Scan(src any) error {
	var err error
	switch v := src.(type) {
	case int64:
		if v < 0 {
			return fmt.Errorf("id: %d is %w: it is negative", v, ErrText)
		}
		*id = ID(v)
	case string:
		err = id.UnmarshalText([]byte(v))
	case []byte:
		err = id.UnmarshalText(v)
	default:
		err = fmt.Errorf("id: a %T is %w", src, ErrText)
	}
	return err
}

// Value stores a UUID in its text form, which the uuid of PostgreSQL and a
// CHAR(36) anywhere take.
func (u UUID) Value() (driver.Value, error) { return u.String(), nil }

// Scan reads a UUID from its text form, or from its 16 bytes. NULL is an error.
func (u *UUID) Scan(src any) error {
	var err error
	switch v := src.(type) {
	case string:
		err = u.UnmarshalText([]byte(v))
	case []byte:
		if len(v) == len(u) {
			copy(u[:], v)
			return nil
		}
		err = u.UnmarshalText(v)
	default:
		err = fmt.Errorf("id: a %T is %w", src, ErrText)
	}
	return err
}
