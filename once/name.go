package once

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"unicode"
	"unicode/utf8"
)

// Bounds of what callers choose.
const (
	MaxName    = 255    // bytes of a key, a set, a member or a tag
	MaxMembers = 10_000 // members of one call
)

// CheckName says whether a key, a set, a member or a tag is one: 1 to MaxName
// bytes of UTF-8 without control characters. The error is an ErrName.
func CheckName(what, name string) error {
	switch {
	case name == "":
		return fmt.Errorf("%w: the %s is empty", ErrName, what)
	case len(name) > MaxName:
		return fmt.Errorf("%w: the %s has %d bytes; %d are the most", ErrName, what, len(name), MaxName)
	case !utf8.ValidString(name):
		return fmt.Errorf("%w: the %s %q is not UTF-8", ErrName, what, name)
	}
	for _, r := range name {
		if unicode.IsControl(r) {
			return fmt.Errorf("%w: the %s %q has a control character", ErrName, what, name)
		}
	}
	return nil
}

// NewOwner returns a name that nobody else ever has: 128 random bits in hexadecimal.
func NewOwner() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// Fingerprint is half of a SHA-256, in hexadecimal: two requests with the same one
// are not found by chance, and hardly on purpose.
func Fingerprint(request []byte) string {
	sum := sha256.Sum256(request)
	return hex.EncodeToString(sum[:16])
}
