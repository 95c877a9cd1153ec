package mysql_test

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
	"testing"
	"time"

	"rushgate/internal/testenv"
	"rushgate/ledger/mysql"
)

func TestTLS(t *testing.T) {
	t.Parallel()
	cert, key := certificate(t, net.IPv4(127, 0, 0, 1))
	s := testenv.MariaDB(t, "ssl-cert="+cert, "ssl-key="+key)
	plain := s.NewDatabase(t)
	// The server's own client, by which the tests speak to it, uses TLS where it can.
	sql(t, s, `ALTER USER rushgate@'127.0.0.1' REQUIRE SSL`)
	_, err := mysql.Open(t.Context(), plain, mysql.Options{})
	hints(t, err, "correct user and password", "add ?tls=true")
	_, err = mysql.Open(t.Context(), plain+"?tls=true", mysql.Options{})
	hints(t, err, "correct tls and tls-ca")
	other, _ := certificate(t, net.IPv4(127, 0, 0, 2))
	_, err = mysql.Open(t.Context(), plain+"?tls=true&tls-ca="+other, mysql.Options{})
	hints(t, err, "correct tls and tls-ca")
	for _, good := range []string{"?tls=true&tls-ca=" + cert, "?tls=skip-verify", "?tls=preferred"} {
		f, err := mysql.Probe(t.Context(), plain+good, time.Now)
		if err != nil || !f.Encrypted {
			t.Errorf("%s: %+v, %v", good, f, err)
		}
	}
	newTill(t, plain+"?tls=true&tls-ca="+cert, mysql.Options{})
}

// certificate makes a certificate for an address that vouches for itself.
func certificate(t *testing.T, ip net.IP) (certFile, keyFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	about := &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "ledger " + ip.String()},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{ip},
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, about, about, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, kind string, body []byte) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: body}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	return write("cert.pem", "CERTIFICATE", der), write("key.pem", "PRIVATE KEY", secret)
}
