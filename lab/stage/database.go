package stage

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"

	"rushgate/lab"
)

// database is a server with databases, of which the lab makes some.
type database struct {
	driver string
	url    *url.URL
	db     *sql.DB
	made   []string
	holder *sql.Conn // has the server for this lab; nil: it is private
	shop   string    // the address of the database that sales share
	counts bool      // PostgreSQL: it has pg_stat_statements
}

// reachWithin bounds the first word with a server.
const reachWithin = 5 * time.Second

// openDatabase connects to a server. It returns one that can be ended in any
// case.
func openDatabase(ctx context.Context, driver, address string) (*database, error) {
	d := &database{driver: driver}
	u, err := url.Parse(address)
	if err != nil {
		return d, errors.New("the address is not a URL: scheme://user:password@host:port/database")
	}
	d.url = u
	if driver == "mysql" {
		var cfg *mysql.Config
		if cfg, err = lab.MariaDBConfig(address); err == nil {
			d.db, err = sql.Open(driver, cfg.FormatDSN())
		}
	} else {
		d.db, err = sql.Open(driver, address)
	}
	if err != nil {
		return d, err
	}
	d.db.SetMaxOpenConns(2)
	ctx, cancel := context.WithTimeout(ctx, reachWithin)
	defer cancel()
	if err := d.db.PingContext(ctx); err != nil {
		return d, fmt.Errorf("%s: %w", u.Host, err)
	}
	if driver == "pgx" {
		_, err := d.db.ExecContext(ctx, "CREATE EXTENSION IF NOT EXISTS pg_stat_statements")
		if err == nil {
			_, err = d.statements(ctx)
		}
		d.counts = err == nil
	}
	return d, nil
}

// bears is an error if the server takes fewer connections than are asked for.
func (d *database) bears(ctx context.Context, connections int) error {
	question, setting := "SHOW max_connections", "max_connections"
	if d.driver == "mysql" {
		question = "SELECT @@max_connections"
	}
	most := 0
	if err := d.db.QueryRowContext(ctx, question).Scan(&most); err != nil {
		return err
	}
	if need := connections + spare/4; most < need {
		return fmt.Errorf("the server at %s takes %d connections, and --connections %d needs %d: ask for fewer, or raise %s",
			d.url.Host, most, connections, need, setting)
	}
	return nil
}

// place returns the address of a database: the shop's, which all sales share that
// make their tables anew, or a fresh one.
func (d *database) place(ctx context.Context, fresh bool, number string) (string, error) {
	if fresh {
		return d.make(ctx, number)
	}
	if d.shop == "" {
		var err error
		if d.shop, err = d.make(ctx, "shop"); err != nil {
			return "", err
		}
	}
	return d.shop, nil
}

// make makes an empty database, and returns its address.
func (d *database) make(ctx context.Context, number string) (string, error) {
	name := "rushgate_lab_" + strings.ToLower(rand.Text()[:10]) + "_" + number
	if _, err := d.db.ExecContext(ctx, "CREATE DATABASE "+name); err != nil {
		return "", fmt.Errorf("the lab needs a database of its own at %s, and cannot make one: %w", d.url.Host, err)
	}
	d.made = append(d.made, name)
	u := *d.url
	u.Path = "/" + name
	return u.String(), nil
}

// drop removes the databases that were made.
func (d *database) drop(ctx context.Context) error {
	with := ""
	if d.driver == "pgx" {
		with = " WITH (FORCE)"
	}
	for len(d.made) > 0 {
		if _, err := d.db.ExecContext(ctx, "DROP DATABASE "+d.made[0]+with); err != nil {
			return err
		}
		d.made = d.made[1:]
	}
	return nil
}

// statements returns how many statements the server has carried out; -1 if it
// does not count them.
func (d *database) statements(ctx context.Context) (n int64, err error) {
	if d.driver == "mysql" {
		name := ""
		err = d.db.QueryRowContext(ctx, "SHOW GLOBAL STATUS LIKE 'Questions'").Scan(&name, &n)
		return n, err
	}
	if d.counts {
		err = d.db.QueryRowContext(ctx, "SELECT coalesce(sum(calls), 0)::bigint FROM pg_stat_statements").Scan(&n)
		return n, err
	}
	return -1, nil
}

func (d *database) end() {
	if d == nil || d.db == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), reachWithin)
	defer cancel()
	_ = d.drop(ctx)
	d.leave(ctx)
	_ = d.db.Close()
}
