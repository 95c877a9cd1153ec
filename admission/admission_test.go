package admission_test

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"go.uber.org/goleak"

	"rushgate"
	"rushgate/admission"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// clock is time that a test moves.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: time.Date(2026, 11, 11, 0, 0, 0, 0, time.UTC)} }

func (c *clock) Now() time.Time { c.mu.Lock(); defer c.mu.Unlock(); return c.now }

func (c *clock) Add(d time.Duration) { c.mu.Lock(); defer c.mu.Unlock(); c.now = c.now.Add(d) }

func (c *clock) claims(user string) jwt.Claims {
	return jwt.Claims{Subject: user, Issuer: "https://id.shop", Audience: jwt.Audience{"rushgate"}, Expiry: jwt.NewNumericDate(c.Now().Add(time.Hour))}
}

// signer is a key with its name and algorithm.
type signer struct {
	id        string
	algorithm jose.SignatureAlgorithm
	key       crypto.Signer
}

func newSigner(t *testing.T, id string, algorithm jose.SignatureAlgorithm) *signer {
	t.Helper()
	s := &signer{id: id, algorithm: algorithm}
	var err error
	switch algorithm {
	case jose.RS256:
		s.key, err = rsa.GenerateKey(rand.Reader, 2048)
	case jose.ES256:
		s.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	default:
		_, s.key, err = ed25519.GenerateKey(rand.Reader)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func sign(t *testing.T, algorithm jose.SignatureAlgorithm, key any, id string, claims jwt.Claims) string {
	t.Helper()
	options := (&jose.SignerOptions{}).WithType("JWT")
	if id != "" {
		options = options.WithHeader("kid", id)
	}
	s, err := jose.NewSigner(jose.SigningKey{Algorithm: algorithm, Key: key}, options)
	if err != nil {
		t.Fatal(err)
	}
	text, err := jwt.Signed(s).Claims(claims).Serialize()
	if err != nil {
		t.Fatal(err)
	}
	return "Bearer " + text
}

func (s *signer) sign(t *testing.T, claims jwt.Claims) string {
	return sign(t, s.algorithm, s.key, s.id, claims)
}

func (s *signer) public() jose.JSONWebKey {
	return jose.JSONWebKey{Key: s.key.Public(), KeyID: s.id, Algorithm: string(s.algorithm), Use: "sig"}
}

func keySet(t *testing.T, keys ...any) []byte {
	t.Helper()
	raw, err := json.Marshal(map[string]any{"keys": keys})
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func expect(t *testing.T, id admission.Identity, authorization, user string, code rushgate.Code) {
	t.Helper()
	caller, err := id.Identify(t.Context(), authorization)
	if rushgate.CodeOf(err) != code || caller.User != user {
		t.Errorf("%+v %v, want %q %q", caller, err, user, code)
	}
}

const no = admission.Unauthenticated

var secret = []byte("0123456789abcdef0123456789abcdef")

func TestTokensOfASharedSecret(t *testing.T) {
	c := newClock()
	id := must[*admission.JWT](t)(admission.NewJWT(admission.JWTConfig{Secret: secret, Issuer: "https://id.shop", Audience: "rushgate", Leeway: time.Minute, Now: c.Now}))
	good := c.claims("alice")
	edit := func(f func(*jwt.Claims)) string { x := good; f(&x); return sign(t, jose.HS256, secret, "", x) }
	text := sign(t, jose.HS256, secret, "", good)
	expect(t, id, text, "alice", "")
	expect(t, id, strings.Replace(text, "Bearer", "bearer", 1), "alice", "")
	for name, authorization := range map[string]string{
		"nothing":        "",
		"another scheme": strings.Replace(text, "Bearer", "Basic", 1),
		"not a token":    "Bearer x.y.z",
		"too long":       "Bearer " + strings.Repeat("a", 9<<10),
		"another secret": sign(t, jose.HS256, []byte("another secret of thirty-two byte"), "", good),
		"HS512":          sign(t, jose.HS512, append(secret, secret...), "", good),
		"changed":        text[:len(text)-4] + "AAAA",
		"no signature":   text[:strings.LastIndex(text, ".")+1],
		"alg none":       unsigned(t, good),
		"expired":        edit(func(c *jwt.Claims) { c.Expiry = jwt.NewNumericDate(good.Expiry.Time().Add(-62 * time.Minute)) }),
		"never ends":     edit(func(c *jwt.Claims) { c.Expiry = nil }),
		"not yet":        edit(func(c *jwt.Claims) { c.NotBefore = jwt.NewNumericDate(good.Expiry.Time()) }),
		"other audience": edit(func(c *jwt.Claims) { c.Audience = jwt.Audience{"a", "b"} }),
		"no audience":    edit(func(c *jwt.Claims) { c.Audience = nil }),
		"another issuer": edit(func(c *jwt.Claims) { c.Issuer = "https://evil" }),
		"nobody":         edit(func(c *jwt.Claims) { c.Subject = "" }),
	} {
		t.Run(name, func(t *testing.T) { expect(t, id, authorization, "", no) })
	}
	expect(t, id, edit(func(c *jwt.Claims) {
		c.Expiry = jwt.NewNumericDate(good.Expiry.Time().Add(-time.Hour - 30*time.Second))
	}), "alice", "") // leeway
	expect(t, id, edit(func(c *jwt.Claims) { c.Audience = jwt.Audience{"a", "rushgate"} }), "alice", "")
}

// unsigned makes a token of the algorithm "none" (RFC 7519, section 6).
func unsigned(t *testing.T, claims jwt.Claims) string {
	raw := must[[]byte](t)(json.Marshal(claims))
	b := base64.RawURLEncoding
	return "Bearer " + b.EncodeToString([]byte(`{"alg":"none"}`)) + "." + b.EncodeToString(raw) + "."
}

func TestAPublicKeyIsNoSecret(t *testing.T) {
	c := newClock()
	s := newSigner(t, "k", jose.RS256)
	path := filepath.Join(t.TempDir(), "jwks.json")
	if err := os.WriteFile(path, keySet(t, s.public()), 0o600); err != nil {
		t.Fatal(err)
	}
	keys := admission.NewKeySet(admission.FromFile(path), c.Now)
	defer keys.Close()
	id := must[*admission.JWT](t)(admission.NewJWT(admission.JWTConfig{Keys: keys, Now: c.Now}))
	expect(t, id, s.sign(t, c.claims("alice")), "alice", "")
	// The classic confusion: HMAC with what everybody may read.
	published := must[[]byte](t)(os.ReadFile(path))
	expect(t, id, sign(t, jose.HS256, published, "k", c.claims("mallory")), "", no)
	expect(t, id, unsigned(t, c.claims("mallory")), "", no)
	// A key is for the algorithm that it names.
	expect(t, id, sign(t, jose.RS512, s.key, "k", c.claims("alice")), "", no)
}

// issuer is a server of keys that can be away.
type issuer struct {
	mu    sync.Mutex
	keys  []byte // nil: away
	asked int
}

func (i *issuer) set(keys []byte) { i.mu.Lock(); defer i.mu.Unlock(); i.keys = keys }

func (i *issuer) count() int { i.mu.Lock(); defer i.mu.Unlock(); return i.asked }

func (i *issuer) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.asked++
	if i.keys == nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	_, _ = w.Write(i.keys)
}

func TestKeysThatRotate(t *testing.T) {
	c, from := newClock(), &issuer{}
	web := httptest.NewServer(from)
	defer web.Close()
	old, next, mixed := newSigner(t, "1", jose.ES256), newSigner(t, "2", jose.EdDSA), newSigner(t, "3", jose.RS256)
	keys := admission.NewKeySet(admission.FromURL(web.Client(), web.URL), c.Now)
	defer keys.Close()
	id := must[*admission.JWT](t)(admission.NewJWT(admission.JWTConfig{Keys: keys, Now: c.Now}))

	// Away from the start: it cannot be told, so nobody is called a liar.
	expect(t, id, old.sign(t, c.claims("alice")), "", rushgate.Unavailable)
	if id.Unready() == "" {
		t.Error("ready without keys")
	}
	from.set(keySet(t, old.public()))
	c.Add(3 * time.Second)
	var away *rushgate.Error
	if _, err := id.Identify(t.Context(), old.sign(t, c.claims("alice"))); !errors.As(err, &away) || away.Code != rushgate.Unavailable || away.RetryAfter != 7*time.Second {
		t.Errorf("%v after %v", err, away.RetryAfter) // asked a moment ago
	}
	c.Add(11 * time.Second)
	expect(t, id, old.sign(t, c.claims("alice")), "alice", "")

	if reason := id.Unready(); reason != "" {
		t.Error(reason)
	}

	// A new key is fetched when its first token comes, but not more often
	// than every ten seconds, whatever key ids are made up.
	from.set(keySet(t, old.public(), next.public()))
	c.Add(11 * time.Second)
	expect(t, id, next.sign(t, c.claims("bob")), "bob", "")
	before := from.count()
	for _, kid := range []string{"made", "up", "ids"} {
		expect(t, id, sign(t, jose.ES256, old.key, kid, c.claims("mallory")), "", no)
	}
	if n := from.count() - before; n != 0 {
		t.Errorf("asked %d times", n)
	}
	// A token signed by one key under the name of another.
	expect(t, id, sign(t, jose.ES256, old.key, "2", c.claims("mallory")), "", no)

	// Away again: the keys that are known go on, for hours.
	from.set(nil)
	for range 5 {
		c.Add(time.Hour)
		expect(t, id, old.sign(t, c.claims("alice")), "alice", "")
	}
	expect(t, id, mixed.sign(t, c.claims("carol")), "", no)

	// Back, with the old key gone: it is not believed any more.
	from.set(keySet(t, next.public(), mixed.public()))
	c.Add(time.Hour)
	expect(t, id, mixed.sign(t, c.claims("carol")), "carol", "")
	expect(t, id, old.sign(t, c.claims("alice")), "", no)
}

func TestOldKeysAreReadAgainByThemselves(t *testing.T) {
	c := newClock()
	fetched := make(chan struct{}, 10)
	s := newSigner(t, "1", jose.ES256)
	keys := admission.NewKeySet(func(context.Context) ([]byte, error) { fetched <- struct{}{}; return keySet(t, s.public()), nil }, c.Now)
	defer keys.Close()
	id := must[*admission.JWT](t)(admission.NewJWT(admission.JWTConfig{Keys: keys, Now: c.Now}))
	expect(t, id, s.sign(t, c.claims("alice")), "alice", "")
	<-fetched
	c.Add(10 * time.Minute)
	expect(t, id, s.sign(t, c.claims("alice")), "alice", "")
	<-fetched
}

func TestASetMayHoldWhatWeDoNotUnderstand(t *testing.T) {
	c, s := newClock(), newSigner(t, "", jose.ES256)
	raw := keySet(t, map[string]any{"kty": "QUANTUM", "kid": "q"}, map[string]any{"kty": "oct", "k": "c2VjcmV0"},
		jose.JSONWebKey{Key: newSigner(t, "", jose.ES256).key, KeyID: "private"}, s.public())
	keys := admission.NewKeySet(func(context.Context) ([]byte, error) { return raw, nil }, c.Now)
	defer keys.Close()
	id := must[*admission.JWT](t)(admission.NewJWT(admission.JWTConfig{Keys: keys, Now: c.Now}))
	expect(t, id, s.sign(t, c.claims("alice")), "alice", "") // no key id: every key is tried
	expect(t, id, sign(t, jose.HS256, []byte("secret-secret-secret-secret-secret"), "", c.claims("mallory")), "", no)

	for name, broken := range map[string]string{"text": "hello", "nothing": `{}`, "only secrets": `{"keys":[{"kty":"oct","k":"c2VjcmV0"}]}`} {
		bad := admission.NewKeySet(func(context.Context) ([]byte, error) { return []byte(broken), nil }, c.Now)
		if bad.Refresh(t.Context()) == nil {
			t.Error(name)
		}
		bad.Close()
	}
	gone := admission.NewKeySet(admission.FromFile(filepath.Join(t.TempDir(), "none")), c.Now)
	defer gone.Close()
	if err := gone.Refresh(t.Context()); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

func TestTheShopsServer(t *testing.T) {
	keys := must[*admission.Keys](t)(admission.NewKeys("new-key", "old-key"))
	id := admission.NewTrustedBackend(keys)
	for authorization, code := range map[string]rushgate.Code{
		"Bearer new-key": "", "bearer old-key": "", "": no, "new-key": no, "Bearer ": no, "Bearer new-ke": no, "Bearer new-key2": no, "Basic new-key": no,
	} {
		caller, err := id.Identify(t.Context(), authorization)
		if rushgate.CodeOf(err) != code || (code == "") != (caller.Role == admission.Backend) {
			t.Errorf("%q: %+v %v", authorization, caller, err)
		}
	}
	for _, bad := range [][]string{{}, {""}, {"good", "has space"}, {"tab\t"}, {"é"}} {
		if _, err := admission.NewKeys(bad...); err == nil {
			t.Errorf("%q", bad)
		}
	}
}

func TestConfigurationsThatMakeNoSense(t *testing.T) {
	keys := admission.NewKeySet(nil, nil)
	defer keys.Close()
	for name, cfg := range map[string]admission.JWTConfig{
		"no key": {}, "both": {Secret: secret, Keys: keys}, "a short secret": {Secret: secret[:31]},
		"much leeway": {Secret: secret, Leeway: time.Hour}, "negative leeway": {Secret: secret, Leeway: -1},
	} {
		if _, err := admission.NewJWT(cfg); err == nil {
			t.Error(name)
		}
	}
}
