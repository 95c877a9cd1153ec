package admission_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"errors"
	"testing"

	"github.com/go-jose/go-jose/v4"

	"rushgate"
	"rushgate/admission"
)

// TestASignedTokenIsNotBlamedForItsSignature: whoever made it must learn what
// to mend.
func TestASignedTokenIsNotBlamedForItsSignature(t *testing.T) {
	c, s := newClock(), newSigner(t, "k", jose.ES256)
	raw := keySet(t, s.public())
	keys := admission.NewKeySet(func(context.Context) ([]byte, error) { return raw, nil }, c.Now)
	defer keys.Close()
	byKey := must[*admission.JWT](t)(admission.NewJWT(admission.JWTConfig{Keys: keys, Now: c.Now}))
	bySecret := must[*admission.JWT](t)(admission.NewJWT(admission.JWTConfig{Secret: secret, Now: c.Now}))
	signed := func(algorithm jose.SignatureAlgorithm, key any, payload, crit string) string {
		options := (&jose.SignerOptions{}).WithHeader("kid", "k")
		if crit != "" {
			options = options.WithCritical(crit).WithHeader(jose.HeaderKey(crit), "x")
		}
		by := must[jose.Signer](t)(jose.NewSigner(jose.SigningKey{Algorithm: algorithm, Key: key}, options))
		return "Bearer " + must[string](t)(must[*jose.JSONWebSignature](t)(by.Sign([]byte(payload))).CompactSerialize())
	}
	const malformed = "the token's claims are malformed"
	const critical = "the token has critical header parameters (crit), and none is understood"
	for _, x := range []struct{ payload, crit, message string }{
		{`{"sub":5,"exp":9999999999}`, "", malformed},
		{`{"sub":"u","exp":"x"}`, "", malformed},
		{`{"sub":"u","exp":1e300}`, "", malformed},
		{`text`, "", malformed},
		{`{"sub":"u","exp":9999999999}`, "made-up", critical},
	} {
		for id, token := range map[*admission.JWT]string{byKey: signed(jose.ES256, s.key, x.payload, x.crit), bySecret: signed(jose.HS256, secret, x.payload, x.crit)} {
			refuses(t, id, token, x.message)
		}
	}
	const wrong = "the token's signature is wrong"
	refuses(t, byKey, signed(jose.ES256, newSigner(t, "k", jose.ES256).key, `{"sub":5}`, ""), wrong)
	refuses(t, bySecret, signed(jose.HS256, append([]byte("x"), secret...), `{"sub":5}`, ""), wrong)
}

func refuses(t *testing.T, id *admission.JWT, token, message string) {
	t.Helper()
	_, err := id.Identify(t.Context(), token)
	var e *rushgate.Error
	if !errors.As(err, &e) || e.Code != no || e.Message != message {
		t.Errorf("%v, want %s", err, message)
	}
}

func TestAShortRSAKeyIsLeftOut(t *testing.T) {
	c := newClock()
	t.Setenv("GODEBUG", "rsa1024min=0")
	short := must[*rsa.PrivateKey](t)(rsa.GenerateKey(rand.Reader, 1024))
	raw := keySet(t, jose.JSONWebKey{Key: short.Public(), KeyID: "short"})
	keys := admission.NewKeySet(func(context.Context) ([]byte, error) { return raw, nil }, c.Now)
	defer keys.Close()
	if err := keys.Refresh(t.Context()); err == nil {
		t.Error("a set of one short key is taken")
	}
}
