package sqlite

import (
	"fmt"
	"strconv"
	"unicode/utf8"

	"rushgate"
)

// A batch of claims reaches SQLite as one parameter: a JSON array with one
// string for each row, its fields at fixed places. Nested arrays would be the
// obvious way and cost a third more: json_each renders every inner array to
// text again for each column that is read. What the rows have in common is
// bound once, beside them.
//
// A narrow row is the id in 19 digits and the user. A wide row has, between
// the two, the slot in 5 digits and the length of the key in 3 (in characters,
// as substr counts: its scope may be in any alphabet), and the key before the
// user.
const (
	sqlClaims = `INSERT INTO claims
		(id, sale, round, item, user_id, slot, quantity, state, created_at, expires_at, ended_at)
		SELECT CAST(substr(value, 1, 19) AS INTEGER), ?2, 1, ?3, substr(value, 20), ?9, ?4, ?5, ?6, ?7, ?8
		FROM json_each(?1)`

	sqlWideClaims = `INSERT INTO claims
		(id, sale, round, item, user_id, slot, quantity, state, created_at, expires_at, ended_at, idem_key)
		SELECT CAST(substr(value, 1, 19) AS INTEGER), ?2, 1, ?3,
			substr(value, 28 + CAST(substr(value, 25, 3) AS INTEGER)),
			CASE WHEN ?9 IS NOT NULL THEN CAST(substr(value, 20, 5) AS INTEGER) END,
			?4, ?5, ?6, ?7, ?8,
			nullif(substr(value, 28, CAST(substr(value, 25, 3) AS INTEGER)), '')
		FROM json_each(?1)`
)

// narrow says that the rows have no keys and share one slot.
func narrow(run []rushgate.Claim) bool {
	for i := range run {
		if run[i].Key != "" || run[i].Slot != run[0].Slot {
			return false
		}
	}
	return true
}

func narrowRows(run []rushgate.Claim) string {
	buf := make([]byte, 1, 1+len(run)*(24+len(run[0].User)))
	buf[0] = '['
	for i := range run {
		buf = append(buf, '"')
		buf = digits(buf, int64(run[i].ID), 19)
		buf = appendText(buf, run[i].User)
		buf = append(buf, '"', ',')
	}
	buf[len(buf)-1] = ']'
	return string(buf)
}

func wideRows(run []rushgate.Claim) string {
	buf := make([]byte, 1, 1+len(run)*(34+len(run[0].User)+len(run[0].Key)))
	buf[0] = '['
	for i := range run {
		c := &run[i]
		buf = append(buf, '"')
		buf = digits(buf, int64(c.ID), 19)
		buf = digits(buf, int64(max(c.Slot, 0)), 5)
		buf = digits(buf, int64(utf8.RuneCountInString(c.Key)), 3)
		buf = appendText(buf, c.Key)
		buf = appendText(buf, c.User)
		buf = append(buf, '"', ',')
	}
	buf[len(buf)-1] = ']'
	return string(buf)
}

// idList is the JSON array of the ids of a list, which is not empty.
func idList[T any](list []T, id func(*T) rushgate.ID) string {
	buf := make([]byte, 1, 1+20*len(list))
	buf[0] = '['
	for i := range list {
		buf = strconv.AppendInt(buf, int64(id(&list[i])), 10)
		buf = append(buf, ',')
	}
	buf[len(buf)-1] = ']'
	return string(buf)
}

func idOf(c *rushgate.Claim) rushgate.ID { return c.ID }

func itself(id *rushgate.ID) rushgate.ID { return *id }

// userList is the JSON array of the claims' users.
func userList(claims []rushgate.Claim) string {
	buf := []byte{'['}
	for i := range claims {
		buf = append(buf, '"')
		buf = appendText(buf, claims[i].User)
		buf = append(buf, '"', ',')
	}
	buf[len(buf)-1] = ']'
	return string(buf)
}

// digits appends n in so many decimal digits. n has no more, and is not negative.
func digits(buf []byte, n int64, width int) []byte {
	for range width {
		buf = append(buf, '0')
	}
	for i := len(buf) - 1; n > 0; i-- {
		buf[i] = byte('0' + n%10)
		n /= 10
	}
	return buf
}

// appendText appends the inside of a JSON string. Only what JSON demands is
// escaped; the rest, of whatever alphabet, stays as it is.
func appendText(buf []byte, s string) []byte {
	clean := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		buf = append(buf, s[clean:i]...)
		clean = i + 1
		if c >= ' ' {
			buf = append(buf, '\\', c)
		} else {
			buf = fmt.Appendf(buf, `\u%04x`, c)
		}
	}
	return append(buf, s[clean:]...)
}

func slotOrNull(slot int32) any {
	if slot == rushgate.NoSlot {
		return nil
	}
	return int64(slot)
}
