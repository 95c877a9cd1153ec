package load

import "sync/atomic"

// nameBytes is the length of every user's name: "u" and 16 hex digits. One
// length for all means that a request's length never changes.
const nameBytes = 17

// users hands out names that never come twice.
type users struct {
	kind Names
	seed uint64
	next atomic.Uint64
}

func newUsers(kind Names, seed uint64) *users { return &users{kind: kind, seed: seed} }

// take reserves n names and returns the number of the first.
func (u *users) take(n int) uint64 { return u.next.Add(uint64(n)) - uint64(n) }

// write puts the name of that number into dst, which has nameBytes.
func (u *users) write(dst []byte, number uint64) {
	v := mix(u.seed)<<32 | number&(1<<32-1)
	if u.kind == Random {
		v = mix(v)
	}
	dst[0] = 'u'
	for i := nameBytes - 1; i > 0; i-- {
		dst[i] = "0123456789abcdef"[v&15]
		v >>= 4
	}
}

// mix is the finalizer of SplitMix64 (Steele, Lea, Flood 2014): a bijection,
// so that different numbers make different names.
func mix(z uint64) uint64 {
	z += 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// Name returns the name of the user of that number, as a run with that seed
// has it. Different numbers below 2^32 have different names.
func Name(kind Names, seed, number uint64) string {
	var name [nameBytes]byte
	newUsers(kind, seed).write(name[:], number)
	return string(name[:])
}
