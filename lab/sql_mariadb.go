package lab

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"

	"github.com/go-sql-driver/mysql"
)

var errMariaDBForm = errors.New("write mysql://user:password@host:port/database; escape special characters of the password (%40 for @)")

// MariaDBConfig reads mysql://user:password@host:port/database?tls=MODE, where the
// mode is false (the default), true, skip-verify or preferred. No error of it
// tells the password.
func MariaDBConfig(address string) (*mysql.Config, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "mysql" && u.Scheme != "mariadb" || u.Hostname() == "" || u.User.Username() == "" || u.Fragment != "" {
		return nil, errMariaDBForm
	}
	port := u.Port()
	if port == "" {
		port = "3306"
	}
	cfg := mysql.NewConfig()
	cfg.User = u.User.Username()
	cfg.Passwd, _ = u.User.Password()
	cfg.Net, cfg.Addr, cfg.DBName = "tcp", net.JoinHostPort(u.Hostname(), port), strings.Trim(u.Path, "/")
	for name, values := range u.Query() {
		mode := values[len(values)-1]
		switch {
		case name != "tls":
			return nil, fmt.Errorf("the setting %q is not known: only tls is", name)
		case mode != "false" && mode != "true" && mode != "skip-verify" && mode != "preferred":
			return nil, fmt.Errorf("tls=%s: must be false, true, skip-verify or preferred", mode)
		}
		cfg.TLSConfig = mode
	}
	return cfg, nil
}
