package id

import (
	"encoding/binary"
	"encoding/hex"
	"math/bits"
	mathrand "math/rand/v2"
	"sync"
	"time"
)

// UUID is a UUID as RFC 9562 lays it out.
type UUID [16]byte

// ParseUUID reads the form that String writes: 36 characters, in capital letters
// too. Any version is read.
func ParseUUID(s string) (UUID, error) {
	var u UUID
	if len(s) != 36 || s[8] != '-' || s[13] != '-' || s[18] != '-' || s[23] != '-' {
		return UUID{}, wrong(s, "a UUID has 36 characters, with hyphens after 8, 12, 16 and 20 digits")
	}
	digits := s[:8] + s[9:13] + s[14:18] + s[19:23] + s[24:]
	if _, err := hex.Decode(u[:], []byte(digits)); err != nil {
		return UUID{}, wrong(s, "a UUID has hexadecimal digits")
	}
	return u, nil
}

// String returns the form with hyphens, in small letters (RFC 9562, section 4).
func (u UUID) String() string {
	var b [36]byte
	hex.Encode(b[:8], u[:4])
	hex.Encode(b[9:13], u[4:6])
	hex.Encode(b[14:18], u[6:8])
	hex.Encode(b[19:23], u[8:10])
	hex.Encode(b[24:], u[10:])
	b[8], b[13], b[18], b[23] = '-', '-', '-', '-'
	return string(b[:])
}

// MarshalText returns the form with hyphens.
func (u UUID) MarshalText() ([]byte, error) { return []byte(u.String()), nil }

// UnmarshalText reads the form with hyphens.
func (u *UUID) UnmarshalText(text []byte) error {
	v, err := ParseUUID(string(text))
	if err == nil {
		*u = v
	}
	return err
}

// Version returns the version: 7 for those that are made here.
func (u UUID) Version() int { return int(u[6] >> 4) }

// Time returns when a UUID of version 7 was made, to the millisecond, and whether
// it is one.
func (u UUID) Time() (time.Time, bool) {
	if u.Version() != 7 || u[8]>>6 != 2 {
		return time.Time{}, false
	}
	return time.UnixMilli(int64(binary.BigEndian.Uint64(u[:8]) >> 16)), true
}

// UUIDs makes UUIDs of version 7 (RFC 9562, section 5.7). They need no number of
// a node, and no lease. Its methods may be called by several goroutines.
//
// Every one is larger than those that this value made before (section 6.2, method
// 2, "monotonic random"): in a new millisecond all 74 bits but the first are
// random; in the same one, or when the clock has gone back, they grow by a random
// step of up to 2^32. Who sees one finds the next with a probability of 2^-32 at
// best, and one of another millisecond with 2^-73.
type UUIDs struct {
	now func() time.Time

	mu     sync.Mutex
	random *mathrand.ChaCha8
	ms     int64
	high   uint64 // the upper 12 of the 74 bits: rand_a
	low    uint64 // the other 62: rand_b
}

// NewUUIDs returns a generator of UUIDs. now is the clock; nil is time.Now.
func NewUUIDs(now func() time.Time) *UUIDs {
	if now == nil {
		now = time.Now
	}
	return &UUIDs{now: now, random: newChaCha(), ms: -1}
}

const uuidTimeMask = 1<<48 - 1

// Next returns a new UUID. It never waits.
func (g *UUIDs) Next() UUID {
	ms := g.now().UnixMilli()
	g.mu.Lock()
	defer g.mu.Unlock()
	if ms > g.ms && ms <= uuidTimeMask {
		g.begin(ms)
	} else {
		g.step()
	}
	return g.lay()
}

// begin begins a millisecond. The first bit is 0, so that there is room above.
func (g *UUIDs) begin(ms int64) {
	g.ms, g.high, g.low = ms, g.random.Uint64()>>(64-11), g.random.Uint64()>>2
}

// step goes on in the same millisecond. 2^41 steps fit into it; were there more,
// they would run ahead of the clock.
func (g *UUIDs) step() {
	sum, _ := bits.Add64(g.low, 1+g.random.Uint64()>>32, 0)
	g.low = sum & (1<<62 - 1)
	if g.high += sum >> 62; g.high >= 1<<12 || g.ms < 0 {
		g.begin(g.ms + 1)
	}
}

// lay puts the bits where the RFC wants them.
func (g *UUIDs) lay() (u UUID) {
	binary.BigEndian.PutUint64(u[:8], uint64(g.ms)<<16|7<<12|g.high)
	binary.BigEndian.PutUint64(u[8:], 2<<62|g.low)
	return u
}
