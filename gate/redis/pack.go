package redis

import "encoding/binary"

// pack writes MessagePack, which scripts read with one call in C: far cheaper
// than thousands of arguments. (https://github.com/msgpack/msgpack/blob/master/spec.md)
type pack []byte

// list begins a list of n elements.
func (p pack) list(n int) pack {
	if n < 16 {
		return append(p, 0x90|byte(n))
	}
	return binary.BigEndian.AppendUint32(append(p, 0xdd), uint32(n))
}

// text writes a string of bytes.
func (p pack) text(s string) pack {
	return append(p.textHead(len(s)), s...)
}

// bytes is text.
func (p pack) bytes(b []byte) pack {
	return append(p.textHead(len(b)), b...)
}

func (p pack) textHead(n int) pack {
	switch {
	case n < 32:
		return append(p, 0xa0|byte(n))
	case n < 1<<16:
		return binary.BigEndian.AppendUint16(append(p, 0xda), uint16(n))
	}
	return binary.BigEndian.AppendUint32(append(p, 0xdb), uint32(n))
}

// number writes a whole number, which Lua reads exactly up to 2^53.
func (p pack) number(n int64) pack {
	if n >= 0 && n < 128 {
		return append(p, byte(n))
	}
	if n >= 0 && n < 1<<16 {
		return binary.BigEndian.AppendUint16(append(p, 0xcd), uint16(n))
	}
	return binary.BigEndian.AppendUint64(append(p, 0xd3), uint64(n))
}

// texts writes a list of strings.
func (p pack) texts(list []string) pack {
	p = p.list(len(list))
	for _, s := range list {
		p = p.text(s)
	}
	return p
}

// numbers writes a list of whole numbers.
func (p pack) numbers(list []int64) pack {
	p = p.list(len(list))
	for _, n := range list {
		p = p.number(n)
	}
	return p
}
