package mysql

import (
	"fmt"
	"strconv"

	"rushgate"
)

// A batch of claims reaches the server as one parameter: a JSON array with an
// array for each row. What the rows have in common is bound once, beside them,
// so that the server has neither to parse nor to evaluate it for each row: a
// seventh less time than a list of VALUES takes.
//
// A narrow row is the id and the user; a wide one has the slot and the key, too.
const (
	sqlClaims = `INSERT INTO claims
		(id, sale, round, item, user_id, slot, quantity, state, created_at, expires_at, ended_at)
		SELECT j.id, ?, 1, ?, j.user_id, ?, ?, ?, ?, ?, ?
		FROM JSON_TABLE(?, '$[*]' COLUMNS (
			id BIGINT PATH '$[0]', user_id VARCHAR(128) CHARACTER SET utf8mb4 PATH '$[1]')) AS j`

	sqlWideClaims = `INSERT INTO claims
		(id, sale, round, item, user_id, slot, quantity, state, created_at, expires_at, ended_at, idem_key)
		SELECT j.id, ?, 1, ?, j.user_id, COALESCE(j.slot, ?), ?, ?, ?, ?, ?, j.idem_key
		FROM JSON_TABLE(?, '$[*]' COLUMNS (
			id BIGINT PATH '$[0]', user_id VARCHAR(128) CHARACTER SET utf8mb4 PATH '$[1]',
			slot INT PATH '$[2]', idem_key VARCHAR(512) CHARACTER SET utf8mb4 PATH '$[3]')) AS j`
)

// maxRows bounds the rows of one statement: less than a megabyte of them.
const maxRows = 1000

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
	buf := make([]byte, 1, 1+len(run)*(26+len(run[0].User)))
	buf[0] = '['
	for i := range run {
		buf = appendClaim(buf, &run[i])
		buf = append(buf, ']', ',')
	}
	buf[len(buf)-1] = ']'
	return string(buf)
}

func wideRows(run []rushgate.Claim) string {
	buf := make([]byte, 1, 1+len(run)*(40+len(run[0].User)+len(run[0].Key)))
	buf[0] = '['
	for i := range run {
		c := &run[i]
		buf = append(appendClaim(buf, c), ',')
		if c.Slot == rushgate.NoSlot {
			buf = append(buf, "null"...)
		} else {
			buf = strconv.AppendInt(buf, int64(c.Slot), 10)
		}
		if c.Key == "" {
			buf = append(buf, ",null],"...)
			continue
		}
		buf = append(buf, ',', '"')
		buf = appendText(buf, c.Key)
		buf = append(buf, '"', ']', ',')
	}
	buf[len(buf)-1] = ']'
	return string(buf)
}

// appendClaim appends what every row begins with.
func appendClaim(buf []byte, c *rushgate.Claim) []byte {
	buf = append(buf, '[')
	buf = strconv.AppendInt(buf, int64(c.ID), 10)
	buf = append(buf, ',', '"')
	buf = appendText(buf, c.User)
	return append(buf, '"')
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
