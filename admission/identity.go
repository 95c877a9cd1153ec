package admission

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"strings"
)

// Identity finds out who sent a request.
type Identity interface {
	// Identify reads the value of the Authorization header, empty when there
	// was none. Its errors are *rushgate.Error: Unauthenticated when the
	// credentials are missing or wrong, and rushgate.Unavailable when they
	// cannot be checked now. It may be called from several goroutines.
	Identify(ctx context.Context, authorization string) (Caller, error)
}

// Dev believes everybody. It is for a developer's own machine.
type Dev struct{}

// Identify returns Anyone.
func (Dev) Identify(context.Context, string) (Caller, error) { return Caller{Role: Anyone}, nil }

// Keys are secrets, any of which opens the same door: one normally, two while
// one replaces the other.
type Keys struct{ digests [][sha256.Size]byte }

// NewKeys returns the keys for some secrets. A secret is visible ASCII, so that
// a header can carry it.
func NewKeys(secrets ...string) (*Keys, error) {
	if len(secrets) == 0 {
		return nil, errors.New("no key is given")
	}
	k := &Keys{}
	for _, s := range secrets {
		if s == "" || strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' }) {
			return nil, errors.New("a key must be visible ASCII characters without spaces")
		}
		k.digests = append(k.digests, sha256.Sum256([]byte(s)))
	}
	return k, nil
}

// Open says whether an Authorization header carries one of the keys as a
// bearer token. How long it takes tells nothing about the keys: digests of
// equal length are compared, all of them, in constant time.
func (k *Keys) Open(authorization string) bool {
	token, ok := Bearer(authorization)
	if !ok {
		return false
	}
	digest := sha256.Sum256([]byte(token))
	match := 0
	for i := range k.digests {
		match |= subtle.ConstantTimeCompare(digest[:], k.digests[i][:])
	}
	return match == 1
}

// Bearer returns the token of an Authorization header of the Bearer scheme
// (RFC 6750); the name of the scheme may be written in any case (RFC 9110).
func Bearer(authorization string) (token string, ok bool) {
	const scheme = "bearer "
	if len(authorization) <= len(scheme) || !strings.EqualFold(authorization[:len(scheme)], scheme) {
		return "", false
	}
	return strings.TrimLeft(authorization[len(scheme):], " "), true
}

// TrustedBackend is the identity of a shop whose own server sends the requests
// and names the users.
type TrustedBackend struct{ keys *Keys }

// NewTrustedBackend returns the identity that knows the shop's server by any of these keys.
func NewTrustedBackend(keys *Keys) *TrustedBackend { return &TrustedBackend{keys: keys} }

// Identify returns Backend when the header carries one of the keys.
func (b *TrustedBackend) Identify(_ context.Context, authorization string) (Caller, error) {
	switch {
	case authorization == "":
		return Caller{}, Refuse("an API key is needed: Authorization: Bearer KEY")
	case !b.keys.Open(authorization):
		return Caller{}, Refuse("the API key is wrong")
	}
	return Caller{Role: Backend}, nil
}
