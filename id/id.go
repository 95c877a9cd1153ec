package id

import (
	"errors"
	"fmt"
	"strconv"
)

// ID is a 63-bit id. Ids of one node grow; those of several are ordered by time,
// as far as their clocks agree. 0 is no id, and none is negative.
//
// Its text, also in JSON, is the decimal number as a string, because numbers in
// JSON are read as float64 by many (RFC 8259, section 6), which have 53 bits. A
// JSON number is therefore refused: whoever wrote it may have rounded it.
type ID int64

// ErrText is what is wrong with a text that is not an id.
var ErrText = errors.New("not an id")

// Parse reads the decimal form: digits alone, as String writes them.
func Parse(s string) (ID, error) {
	n, err := strconv.ParseUint(s, 10, 63)
	if err != nil || len(s) > 1 && s[0] == '0' {
		return 0, wrong(s, "it must be 0 to 9223372036854775807, in digits alone")
	}
	return ID(n), nil
}

func wrong(s, why string) error {
	if len(s) > 40 {
		s = s[:40] + "…"
	}
	return fmt.Errorf("id: %q is %w: %s", s, ErrText, why)
}

// String returns the decimal form.
func (id ID) String() string { return strconv.FormatInt(int64(id), 10) }

// MarshalText returns the decimal form.
func (id ID) MarshalText() ([]byte, error) { return id.AppendText(nil) }

// AppendText appends the decimal form.
func (id ID) AppendText(b []byte) ([]byte, error) {
	if id < 0 {
		return nil, fmt.Errorf("id: %d is %w: it is negative", int64(id), ErrText)
	}
	return strconv.AppendInt(b, int64(id), 10), nil
}

// UnmarshalText reads the decimal form.
func (id *ID) UnmarshalText(text []byte) error {
	n, err := Parse(string(text))
	if err == nil {
		*id = n
	}
	return err
}

// The alphabet of Crockford's base 32 (https://www.crockford.com/base32.html).
const crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

// base32Len is enough for 65 bits.
const base32Len = 13

// Base32 returns the id in Crockford's base 32: always 13 characters, which
// sort as the ids do, and can be read out and typed.
func (id ID) Base32() string {
	var b [base32Len]byte
	n := uint64(id)
	for i := base32Len - 1; i >= 0; i-- {
		b[i] = crockford[n&31]
		n >>= 5
	}
	return string(b[:])
}

// ParseBase32 reads what Base32 writes, in small letters too, and takes I and L
// for 1 and O for 0. Hyphens and check symbols are not read.
func ParseBase32(s string) (ID, error) {
	if len(s) != base32Len {
		return 0, wrong(s, "it must have 13 characters")
	}
	var n uint64
	for i := range len(s) {
		d, ok := crockfordDigit(s[i])
		if !ok {
			return 0, wrong(s, "it must be in Crockford's base 32")
		}
		if n >= 1<<58 {
			return 0, wrong(s, "it has more than 63 bits")
		}
		n = n<<5 | uint64(d)
	}
	return ID(n), nil
}

// crockfordDigit returns the value of a character. The letters leave out I, L, O
// and U.
func crockfordDigit(c byte) (byte, bool) {
	if 'a' <= c && c <= 'z' {
		c -= 'a' - 'A'
	}
	switch {
	case '0' <= c && c <= '9':
		return c - '0', true
	case c == 'I' || c == 'L':
		return 1, true
	case c == 'O':
		return 0, true
	case 'A' <= c && c <= 'H':
		return c - 'A' + 10, true
	case c == 'J' || c == 'K':
		return c - 'J' + 18, true
	case c == 'M' || c == 'N':
		return c - 'M' + 20, true
	case 'P' <= c && c <= 'T':
		return c - 'P' + 22, true
	case 'V' <= c && c <= 'Z':
		return c - 'V' + 27, true
	}
	return 0, false
}
