package postgres_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"rushgate/internal/testenv"
	"rushgate/ledger/postgres"
)

func TestTLS(t *testing.T) {
	t.Parallel()
	s := testenv.PostgreSQL(t)
	cert := speakTLS(t, s)
	other, _ := certificate(t, net.IPv4(127, 0, 0, 2))
	with := func(query string) string { return strings.Replace(s.URL("postgres"), "sslmode=disable", query, 1) }
	_, err := postgres.Open(t.Context(), with("sslmode=verify-full&sslrootcert="+other), postgres.Options{})
	hints(t, err, "a certificate that is not trusted", "sslrootcert")
	for _, good := range []string{"sslmode=verify-full&sslrootcert=" + cert, "sslmode=require", "sslmode=prefer"} {
		f, err := postgres.Probe(t.Context(), with(good), time.Now)
		if err != nil || !f.Encrypted {
			t.Errorf("%s: %+v, %v", good, f, err)
		}
	}
	newTill(t, with("sslmode=verify-full&sslrootcert="+cert), postgres.Options{})
}

// speakTLS gives a running server a certificate, and returns its file. The key is
// the server's own, as it demands.
func speakTLS(t *testing.T, s *testenv.PostgresServer) string {
	t.Helper()
	sql := func(statement string) string {
		t.Helper()
		out, err := s.SQL("postgres", statement)
		must(t, err)
		return out
	}
	data := sql(`SHOW data_directory`)
	cert, key := certificate(t, net.IPv4(127, 0, 0, 1))
	owner, err := os.Stat(data)
	must(t, err)
	id := owner.Sys().(*syscall.Stat_t)
	for from, to := range map[string]string{cert: "server.crt", key: "server.key"} {
		body, err := os.ReadFile(from)
		must(t, err)
		must(t, os.WriteFile(filepath.Join(data, to), body, 0o600))
		must(t, os.Chown(filepath.Join(data, to), int(id.Uid), int(id.Gid)))
	}
	sql(`ALTER SYSTEM SET ssl = on`)
	s.Restart(t)
	return cert
}

// certificate makes a certificate for an address that vouches for itself.
func certificate(t *testing.T, ip net.IP) (certFile, keyFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	about := &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "ledger " + ip.String()},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{ip},
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, about, about, &key.PublicKey, key)
	must(t, err)
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	must(t, err)
	write := func(name, kind string, body []byte) string {
		path := filepath.Join(t.TempDir(), name)
		must(t, os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: body}), 0o600))
		return path
	}
	return write("cert.pem", "CERTIFICATE", der), write("key.pem", "PRIVATE KEY", secret)
}
