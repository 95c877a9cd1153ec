package app

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"rushgate/admission"
)

// newIdentity makes the identity of a configuration. A key set is returned,
// too: it must be closed.
func newIdentity(c *Config) (admission.Identity, *admission.KeySet, error) {
	switch c.identity() {
	case identityBackend:
		keys, err := admission.NewKeys(c.BackendKey...)
		if err != nil {
			return nil, nil, fmt.Errorf("--backend-key: %w", err)
		}
		return admission.NewTrustedBackend(keys), nil, nil
	case identityJWT:
		return newJWT(c)
	}
	return admission.Dev{}, nil, nil
}

func newJWT(c *Config) (admission.Identity, *admission.KeySet, error) {
	jwt := admission.JWTConfig{Issuer: c.JWTIssuer, Audience: c.JWTAudience, Leeway: 30 * time.Second}
	switch {
	case c.JWTJWKS != "":
		jwt.Keys = admission.NewKeySet(keySource(c.JWTJWKS), nil)
	case c.JWTFile != "":
		secret, err := readSecret(c.JWTFile)
		if err != nil {
			return nil, nil, fmt.Errorf("--jwt-secret-file: %w", err)
		}
		jwt.Secret = secret
	default:
		jwt.Secret = []byte(c.JWTSecret)
	}
	identity, err := admission.NewJWT(jwt)
	if err != nil {
		return nil, nil, err
	}
	return identity, jwt.Keys, nil
}

// keySource tells a URL from a file.
func keySource(where string) admission.Source {
	if strings.HasPrefix(where, "https://") || strings.HasPrefix(where, "http://") {
		return admission.FromURL(&http.Client{Timeout: 5 * time.Second}, where)
	}
	return admission.FromFile(where)
}

// readSecret reads a secret without the line end that editors add.
func readSecret(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, 64<<10))
	return bytes.TrimRight(raw, "\r\n"), err
}
