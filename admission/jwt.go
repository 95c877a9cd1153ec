package admission

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"rushgate"
)

// JWTConfig says which tokens are believed. Exactly one of Secret and Keys is set.
type JWTConfig struct {
	Secret []byte  // HS256, at least 32 bytes (RFC 7518, section 3.2)
	Keys   *KeySet // RS256, ES256 and EdDSA

	Issuer   string // required value of iss; empty: any
	Audience string // required among aud; empty: any

	Leeway time.Duration    // how far clocks may differ; 0 to 5 minutes
	Now    func() time.Time // default time.Now
}

// JWT knows buyers by signed tokens (RFC 7519): sub is the user, and exp is required.
type JWT struct {
	cfg        JWTConfig
	algorithms []jose.SignatureAlgorithm
	expected   jwt.Expected
}

// NewJWT returns the identity for a configuration. Which algorithms are
// accepted follows from the kind of key alone, never from the token: a public
// key can not be used as a secret, and there is no "none".
func NewJWT(cfg JWTConfig) (*JWT, error) {
	j := &JWT{cfg: cfg, expected: jwt.Expected{Issuer: cfg.Issuer}}
	switch {
	case (len(cfg.Secret) > 0) == (cfg.Keys != nil):
		return nil, errors.New("jwt identity: give either a secret or a key set")
	case cfg.Keys != nil:
		j.algorithms = []jose.SignatureAlgorithm{jose.RS256, jose.ES256, jose.EdDSA}
	case len(cfg.Secret) < 32:
		return nil, fmt.Errorf("jwt identity: the secret has %d bytes; HS256 needs at least 32", len(cfg.Secret))
	default:
		j.algorithms = []jose.SignatureAlgorithm{jose.HS256}
	}
	if cfg.Leeway < 0 || cfg.Leeway > 5*time.Minute {
		return nil, fmt.Errorf("jwt identity: leeway %s: must be 0 to 5m", cfg.Leeway)
	}
	if cfg.Audience != "" {
		j.expected.AnyAudience = jwt.Audience{cfg.Audience}
	}
	if j.cfg.Now == nil {
		j.cfg.Now = time.Now
	}
	return j, nil
}

// Unready says why no token can be checked yet, or nothing.
func (j *JWT) Unready() string {
	if j.cfg.Keys != nil && j.cfg.Keys.keys.Load() == nil {
		return "the key set of the tokens could not be read yet"
	}
	return ""
}

// maxToken bounds what is parsed, in bytes.
const maxToken = 8 << 10

// Identify returns the Buyer whom a valid token names.
func (j *JWT) Identify(ctx context.Context, authorization string) (Caller, error) {
	raw, ok := Bearer(authorization)
	switch {
	case !ok:
		return Caller{}, Refuse("a token is needed: Authorization: Bearer JWT")
	case len(raw) > maxToken:
		return Caller{}, Refuse("the token is too long")
	}
	token, err := jwt.ParseSigned(raw, j.algorithms)
	if err != nil {
		return Caller{}, Refuse("the token is malformed or signed with an algorithm that is not accepted")
	}
	claims, err := j.verify(ctx, token)
	if err != nil {
		return Caller{}, err
	}
	return j.buyer(claims)
}

// verify returns the claims of a token whose signature is right.
func (j *JWT) verify(ctx context.Context, token *jwt.JSONWebToken) (*jwt.Claims, error) {
	header := token.Headers[0] // a compact token has exactly one
	if _, ok := header.ExtraHeaders["crit"]; ok {
		return nil, Refuse("the token has critical header parameters (crit), and none is understood")
	}
	var claims jwt.Claims
	if j.cfg.Keys == nil {
		return &claims, read(token, j.cfg.Secret, &claims)
	}
	keys, err := j.cfg.Keys.find(ctx, header.KeyID)
	if err != nil {
		return nil, &rushgate.Error{Code: rushgate.Unavailable, RetryAfter: j.cfg.Keys.pause(),
			Message: "tokens cannot be checked now: the key set cannot be reached", Cause: err}
	}
	err = Refuse("the token's key is not known")
	for i := range keys {
		if !fits(&keys[i], header.Algorithm) {
			continue
		}
		if err = read(token, keys[i].Key, &claims); err == nil || err == error(errClaims) {
			break
		}
	}
	return &claims, err
}

// read reads the claims of a token that a key has signed.
func read(token *jwt.JSONWebToken, key any, claims *jwt.Claims) error {
	if token.Claims(key, claims) == nil {
		return nil
	}
	if token.Claims(key) == nil { // it is only the reading that fails
		return errClaims
	}
	return errSignature
}

var (
	errClaims    = Refuse("the token's claims are malformed")
	errSignature = Refuse("the token's signature is wrong")
)

// fits says whether a key may be used with an algorithm: a key that names one
// is for that one only.
func fits(k *jose.JSONWebKey, algorithm string) bool {
	return (k.Use == "" || k.Use == "sig") && (k.Algorithm == "" || k.Algorithm == algorithm)
}

// buyer checks what a token says.
func (j *JWT) buyer(c *jwt.Claims) (Caller, error) {
	if c.Expiry == nil {
		return Caller{}, Refuse("the token has no exp: one that never ends is not accepted")
	}
	expected := j.expected
	expected.Time = j.cfg.Now()
	switch err := c.ValidateWithLeeway(expected, j.cfg.Leeway); {
	case errors.Is(err, jwt.ErrExpired):
		return Caller{}, Refuse("the token has expired")
	case errors.Is(err, jwt.ErrNotValidYet), errors.Is(err, jwt.ErrIssuedInTheFuture):
		return Caller{}, Refuse("the token is not valid yet")
	case errors.Is(err, jwt.ErrInvalidAudience):
		return Caller{}, Refuse("the token is for another audience")
	case err != nil:
		return Caller{}, Refuse("the token is from another issuer")
	case c.Subject == "":
		return Caller{}, Refuse("the token has no sub: nobody to sell to")
	}
	return Caller{Role: Buyer, User: c.Subject}, nil
}
