package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rushgate/internal/binary"
	"rushgate/internal/testenv"
)

// TestLabOverTLS: on servers that take nothing else, with names and passwords as
// they are in the world, and in a database of Redis that is not the first.
func TestLabOverTLS(t *testing.T) {
	cert, key := certificate(t)
	secure := secureRedis(t, "tls-cert-file "+cert, "tls-key-file "+key, "tls-auth-clients no", "requirepass p@ss/word%")
	maria := testenv.MariaDB(t, "ssl-cert="+cert, "ssl-key="+key, "require_secure_transport=on")
	if _, err := maria.SQL("", `CREATE USER shop@'127.0.0.1' IDENTIFIED BY 'p@ss/word%' REQUIRE SSL; GRANT ALL ON *.* TO shop@'127.0.0.1'`); err != nil {
		t.Fatal(err)
	}
	const password = "p%40ss%2Fword%25"
	r, err := binary.RunWith(program, []string{"SSL_CERT_FILE=" + cert}, "", "lab", "--strategy", "redis-lua,lock-rushgate,rushgate-redis,sql-unique-mariadb",
		"--redis", "rediss://:"+password+"@"+secure+"/3", "--mariadb", fmt.Sprintf("mysql://shop:%s@%s/?tls=true", password, maria.Addr),
		"--stock", "20", "--buyers", "100", "--connections", "8", "--duration", "30s", "--no-pause")
	if err != nil {
		t.Fatal(err)
	}
	if r.Status != 0 || !strings.Contains(r.Out, "exact in everything that was tried: redis-lua, lock-rushgate, sql-unique-mariadb, rushgate-redis-postgres") {
		t.Errorf("status %d\n%s%s", r.Status, r.Out, r.Err)
	}
}

// secureRedis starts a Redis that speaks TLS, too, and returns where. Another
// program may take the port for that before Redis does: then it is tried again
// with others.
func secureRedis(t *testing.T, settings ...string) string {
	t.Helper()
	var failures error
	for range 5 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		_, port, _ := net.SplitHostPort(l.Addr().String())
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		s, err := testenv.StartRedis(t.TempDir(), append(settings, "tls-port "+port)...)
		if err == nil {
			t.Cleanup(s.Stop)
			return l.Addr().String()
		}
		failures = errors.Join(failures, err)
	}
	t.Fatal(failures)
	return ""
}

// certificate makes a certificate for this machine that vouches for itself.
func certificate(t *testing.T) (certFile, keyFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	about := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "lab"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
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
