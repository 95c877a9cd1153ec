package postgres

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// target is the database that a URL names.
type target struct {
	config   *pgxpool.Config
	readOnly bool // it is only read, perhaps on a standby
}

// parse reads a URL, and says what is wrong with it without telling its password.
func parse(url string, patience time.Duration) (target, error) {
	if !strings.HasPrefix(url, "postgres://") && !strings.HasPrefix(url, "postgresql://") {
		return target{}, errors.New("the ledger's address must be postgres://user:password@host:port/database")
	}
	c, err := pgxpool.ParseConfig(url)
	if err != nil {
		return target{}, fmt.Errorf("the ledger's address is not postgres://user:password@host:port/database: %w", oneLine(err))
	}
	cc := c.ConnConfig
	if cc.ConnectTimeout == 0 || cc.ConnectTimeout > patience {
		cc.ConnectTimeout = patience
	}
	cc.DialFunc = dial()
	if cc.ValidateConnect == nil && severalHosts(&cc.Config) {
		cc.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite // after a failover: the one that takes writes
	}
	return target{config: c}, nil
}

func severalHosts(c *pgconn.Config) bool {
	for _, f := range c.Fallbacks { // the same host once more is TLS and its absence
		if f.Host != c.Host || f.Port != c.Port {
			return true
		}
	}
	return false
}

// String names the database without the password.
func (t *target) String() string {
	c := t.config.ConnConfig
	return fmt.Sprintf("database %q at %s", c.Database, t.address())
}

func (t *target) address() string {
	c := t.config.ConnConfig
	return net.JoinHostPort(c.Host, strconv.Itoa(int(c.Port)))
}

func (t *target) user() string { return t.config.ConnConfig.User }

// oneLine folds an error whose text has several lines.
func oneLine(err error) error {
	text := err.Error()
	folded := strings.Join(strings.Fields(text), " ")
	if folded == text {
		return err
	}
	return folds{folded, err}
}

type folds struct {
	text string
	err  error
}

func (f folds) Error() string { return f.text }
func (f folds) Unwrap() error { return f.err }
