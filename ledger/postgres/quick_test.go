package postgres_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/url"
	"testing"

	"rushgate/internal/testenv"
)

// quick returns the address of the server's database for a user whose password
// costs nothing to show. A password is hashed 4096 times for each connection, as
// it should be, and that would be half of the time of these tests, which connect
// thousands of times. The server takes a password that was hashed elsewhere
// (RFC 5803): this one, once.
func quick(t testing.TB, s *testenv.PostgresServer) string {
	t.Helper()
	const password, salt = "quick", "salt of a test"
	sum := func(key []byte, text string) []byte {
		h := hmac.New(sha256.New, key)
		h.Write([]byte(text))
		return h.Sum(nil)
	}
	salted := sum([]byte(password), salt+"\x00\x00\x00\x01")
	client := sha256.Sum256(sum(salted, "Client Key"))
	code := base64.StdEncoding.EncodeToString
	verifier := fmt.Sprintf("SCRAM-SHA-256$1:%s$%s:%s", code([]byte(salt)), code(client[:]), code(sum(salted, "Server Key")))
	_, err := s.SQL("postgres", fmt.Sprintf(`DO $$ BEGIN
		CREATE ROLE quick LOGIN SUPERUSER PASSWORD '%s';
	EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; -- another test was faster
	END $$`, verifier))
	must(t, err)
	return changed(t, s.URL("postgres"), func(u *url.URL) { u.User = url.UserPassword("quick", password) })
}
