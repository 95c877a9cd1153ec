package redis

import (
	"encoding/binary"
	"errors"
	"math"
)

// errMalformed is MessagePack that no script of ours has written.
var errMalformed = errors.New("malformed MessagePack")

// unpacker reads MessagePack as cmsgpack writes it. After the first error it
// returns zero values.
type unpacker struct {
	rest []byte
	err  error
}

// take returns the next n bytes.
func (u *unpacker) take(n int) []byte {
	if u.err != nil || n < 0 || n > len(u.rest) {
		u.err = errors.Join(u.err, errMalformed)
		u.rest = nil
		return make([]byte, min(max(n, 0), 8))
	}
	b := u.rest[:n]
	u.rest = u.rest[n:]
	return b
}

func (u *unpacker) size(bytes int) int {
	b := u.take(bytes)
	switch bytes {
	case 1:
		return int(b[0])
	case 2:
		return int(binary.BigEndian.Uint16(b))
	}
	return int(binary.BigEndian.Uint32(b))
}

// list reads the head of a list and returns its length.
func (u *unpacker) list() int {
	n := 0
	switch head := u.take(1)[0]; {
	case head&0xf0 == 0x90:
		n = int(head & 0x0f)
	case head == 0xdc:
		n = u.size(2)
	case head == 0xdd:
		n = u.size(4)
	default:
		u.err = errors.Join(u.err, errMalformed)
	}
	if n > len(u.rest) { // every element has a byte at least
		u.err = errors.Join(u.err, errMalformed)
		return 0
	}
	return n
}

func (u *unpacker) text() string {
	switch head := u.take(1)[0]; {
	case head&0xe0 == 0xa0:
		return string(u.take(int(head & 0x1f)))
	case head == 0xd9:
		return string(u.take(u.size(1)))
	case head == 0xda:
		return string(u.take(u.size(2)))
	case head == 0xdb:
		return string(u.take(u.size(4)))
	}
	u.err = errors.Join(u.err, errMalformed)
	return ""
}

func (u *unpacker) texts() []string {
	list := make([]string, u.list())
	for i := range list {
		list[i] = u.text()
	}
	return list
}

func (u *unpacker) number() int64 {
	switch head := u.take(1)[0]; {
	case head < 0x80:
		return int64(head)
	case head >= 0xe0:
		return int64(int8(head))
	case head == 0xca:
		return int64(math.Float32frombits(binary.BigEndian.Uint32(u.take(4))))
	case head == 0xcb:
		return int64(math.Float64frombits(binary.BigEndian.Uint64(u.take(8))))
	case head == 0xcc:
		return int64(u.take(1)[0])
	case head == 0xcd:
		return int64(binary.BigEndian.Uint16(u.take(2)))
	case head == 0xce:
		return int64(binary.BigEndian.Uint32(u.take(4)))
	case head == 0xd0:
		return int64(int8(u.take(1)[0]))
	case head == 0xd1:
		return int64(int16(binary.BigEndian.Uint16(u.take(2))))
	case head == 0xd2:
		return int64(int32(binary.BigEndian.Uint32(u.take(4))))
	case head == 0xcf, head == 0xd3:
		return int64(binary.BigEndian.Uint64(u.take(8)))
	}
	u.err = errors.Join(u.err, errMalformed)
	return 0
}

func (u *unpacker) numbers() []int64 {
	list := make([]int64, u.list())
	for i := range list {
		list[i] = u.number()
	}
	return list
}

func (u *unpacker) flag() bool {
	switch u.take(1)[0] {
	case 0xc2:
		return false
	case 0xc3:
		return true
	}
	u.err = errors.Join(u.err, errMalformed)
	return false
}
