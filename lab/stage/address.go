package stage

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"rushgate/lab"
)

// Validate says what is wrong with the addresses that were given, in the words of
// the command line. It asks nobody: whether a server is there is found out by
// Open. No error of it tells a password.
func (o *Options) Validate() error {
	if n := len(o.Redis); n != 0 && n != 1 && n != 3 {
		return fmt.Errorf("--redis: %d addresses: must be one, or three independent ones for Redlock too", n)
	}
	if _, err := parseRedis(o.Redis); err != nil {
		return fmt.Errorf("--redis: %w", err)
	}
	if o.Postgres != "" {
		if err := postgresForm(o.Postgres); err != nil {
			return fmt.Errorf("--postgres: %w", err)
		}
	}
	if o.MariaDB != "" {
		if _, err := lab.MariaDBConfig(o.MariaDB); err != nil {
			return fmt.Errorf("--mariadb: %w", err)
		}
	}
	return nil
}

var (
	errRedisForm    = errors.New("write host:port, redis://user:password@host:port/db, or rediss:// for TLS; escape special characters of the password (%40 for @)")
	errPostgresForm = errors.New("write postgres://user:password@host:port/database?sslmode=…; escape special characters of the password (%40 for @)")
)

// parseRedis reads the addresses of Redis. What is not the host is the same for
// all of them.
func parseRedis(given []string) (p lab.Place, err error) {
	for i, address := range given {
		if !strings.Contains(address, "://") {
			address = "redis://" + address
		}
		u, err := url.Parse(address)
		if err != nil { // which repeats the address, with the password
			return p, errRedisForm
		}
		one, err := redisAt(u)
		if err != nil {
			return p, fmt.Errorf("%s: %w", u.Redacted(), err)
		}
		if i > 0 && (one.RedisUser != p.RedisUser || one.RedisPassword != p.RedisPassword || one.RedisDB != p.RedisDB || one.RedisTLS != p.RedisTLS) {
			return p, errors.New("user, password, database and TLS must be the same for all three")
		}
		if slices.Contains(p.Redis, one.Redis[0]) {
			return p, fmt.Errorf("%s twice: Redlock needs three that are independent", one.Redis[0])
		}
		one.Redis = append(p.Redis, one.Redis...)
		p = one
	}
	return p, nil
}

func redisAt(u *url.URL) (p lab.Place, err error) {
	port := u.Port()
	if port == "" {
		port = "6379"
	}
	switch {
	case u.Scheme != "redis" && u.Scheme != "rediss", u.Hostname() == "", u.Fragment != "":
		return p, errRedisForm
	case strings.Contains(u.Host, ","):
		return p, errors.New("the lab takes no cluster: give the address of one Redis that is none")
	case u.RawQuery != "":
		return p, errors.New("the lab takes nothing behind a ?; of a group with sentinels, give the master")
	}
	if db := strings.Trim(u.Path, "/"); db != "" {
		if p.RedisDB, err = strconv.Atoi(db); err != nil || p.RedisDB < 0 {
			return p, fmt.Errorf("the database %q must be a number", db)
		}
	}
	p.Redis, p.RedisTLS = []string{net.JoinHostPort(u.Hostname(), port)}, u.Scheme == "rediss"
	p.RedisUser = u.User.Username()
	p.RedisPassword, _ = u.User.Password()
	return p, nil
}

func postgresForm(address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" || u.Hostname() == "" {
		return errPostgresForm
	}
	if strings.Contains(u.Host, ",") {
		return errors.New("the lab takes one host: the one that can be written to")
	}
	return nil
}

// firstLine is an error in one line. Some drivers end the first one with a colon,
// and tell what happened in the next.
func firstLine(err error) string {
	line, rest, _ := strings.Cut(err.Error(), "\n")
	if strings.HasSuffix(line, ":") {
		next, _, _ := strings.Cut(rest, "\n")
		line += " " + strings.TrimSpace(next)
	}
	return line
}
