package mysql

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"

	"github.com/go-sql-driver/mysql"
)

// address is where a ledger is: what its URL says.
type address struct {
	host     string // host:port
	database string
	user     string
	config   *mysql.Config
}

// place names a ledger in an error.
func (a *address) place() string { return fmt.Sprintf("the ledger %s at %s", a.database, a.host) }

const urlForm = "write mysql://user:password@host:port/database"

// parseURL reads the URL of a ledger. No error of it tells the password.
func parseURL(raw string) (address, error) {
	u, err := url.Parse(raw)
	if err != nil { // which repeats the URL, with the password
		return address{}, fmt.Errorf("the ledger's URL cannot be read: %s, and escape special characters of the password (%%40 for @)", urlForm)
	}
	bad := func(format string, args ...any) (address, error) {
		return address{}, fmt.Errorf("the ledger's URL %s %s", u.Redacted(), fmt.Sprintf(format, args...))
	}
	name := strings.TrimPrefix(u.Path, "/")
	switch {
	case u.Scheme != "mysql":
		return bad("does not begin with mysql://: %s", urlForm)
	case u.Hostname() == "":
		return bad("names no host: %s", urlForm)
	case name == "" || strings.Contains(name, "/"):
		return bad("names no database: %s", urlForm)
	case u.User.Username() == "":
		return bad("names no user: %s", urlForm)
	case u.Fragment != "":
		return bad("has a part after #: %s", urlForm)
	}
	port := u.Port()
	if port == "" {
		port = "3306"
	}
	config := mysql.NewConfig()
	config.Net, config.Addr, config.DBName = "tcp", net.JoinHostPort(u.Hostname(), port), name
	config.User = u.User.Username()
	config.Passwd, _ = u.User.Password()
	if err := secure(config, u.Query(), u.Hostname()); err != nil {
		return bad("%v", err)
	}
	return address{host: config.Addr, database: name, user: config.User, config: config}, nil
}

// secure reads the settings of TLS, and refuses all others: a setting that is
// not known is one that its writer believes in.
func secure(config *mysql.Config, q url.Values, host string) error {
	files := map[string]string{"tls-ca": "", "tls-cert": "", "tls-key": ""}
	mode := "false"
	for name, values := range q {
		_, file := files[name]
		switch {
		case len(values) != 1:
			return fmt.Errorf("has %q more than once", name)
		case name == "tls":
			mode = values[0]
		case file:
			files[name] = values[0]
		default:
			return fmt.Errorf("has the setting %q: only tls, tls-ca, tls-cert and tls-key are known", name)
		}
	}
	own := files["tls-ca"] != "" || files["tls-cert"] != "" || files["tls-key"] != ""
	switch mode {
	case "false":
		if own {
			return fmt.Errorf("names certificates, but does not ask for TLS: add tls=true")
		}
		return nil
	case "true", "skip-verify", "preferred":
	default:
		return fmt.Errorf("has tls=%s: it must be false, true, skip-verify or preferred", mode)
	}
	config.TLS = &tls.Config{ServerName: host, MinVersion: tls.VersionTLS12, InsecureSkipVerify: mode != "true"}
	config.AllowFallbackToPlaintext = mode == "preferred"
	return certificates(config.TLS, files["tls-ca"], files["tls-cert"], files["tls-key"])
}

// certificates reads the files that a URL names.
func certificates(c *tls.Config, ca, cert, key string) error {
	if ca != "" {
		pem, err := os.ReadFile(ca)
		if err != nil {
			return fmt.Errorf("names a tls-ca that cannot be read: %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return fmt.Errorf("names a tls-ca without a certificate in PEM: %s", ca)
		}
	}
	if cert == "" && key == "" {
		return nil
	}
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		return fmt.Errorf("names a tls-cert and tls-key that do not work: %w", err)
	}
	c.Certificates = []tls.Certificate{pair}
	return nil
}
