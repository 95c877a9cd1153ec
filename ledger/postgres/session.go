package postgres

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// The bounds of time, beside Options.Patience and Options.LockWait. By default,
// whoever waits for a lock outlasts the paused holder of one; whoever asks what
// became of a commit always outlasts the transaction that it may still belong to.
const (
	pausedTime  = 3 * time.Second  // a transaction in which nothing happens; the server ends it
	pingTime    = 2 * time.Second  // for an idle connection to show that it lives
	readTime    = 10 * time.Minute // of one statement of a long read; the server ends it
	usedTime    = time.Minute      // between two statements of a snapshot
	prepareTime = 2 * time.Minute  // for Open, with migrations by this node or another
)

// whole is how long a transaction may take by this program's clock.
func (o *Options) whole() time.Duration { return o.LockWait + o.Patience }

// doubt is how long a transaction is waited for whose COMMIT may still be on its way.
func (o *Options) doubt() time.Duration { return pausedTime + o.Patience }

// settings are what a session sets at its start, unless the URL says otherwise.
type settings map[string]string

// always are the settings of every session.
//
// The keepalives are the server's side of a connection whose other end has
// vanished; the program's side is in dial. With jit, a plan that the server takes
// for expensive is compiled for longer than any of these statements runs.
func always() settings {
	return settings{
		"application_name": "rushgate", "jit": "off", "client_encoding": "UTF8", "DateStyle": "ISO", "TimeZone": "UTC",
		"tcp_keepalives_idle": "10", "tcp_keepalives_interval": "5", "tcp_keepalives_count": "3",
	}
}

// writing are the settings of sessions that record batches. Every row is found
// by an index, and the plans are made once: a plan from the time when the
// tables were nearly empty must not be one that reads them from end to end. So
// what would be cheaper for small tables is switched off.
func (o *Options) writing() settings {
	s := always()
	s["lock_timeout"] = milliseconds(o.LockWait)
	s["statement_timeout"] = milliseconds(o.whole() + pausedTime)
	s["idle_in_transaction_session_timeout"] = milliseconds(pausedTime)
	for _, way := range []string{"enable_seqscan", "enable_hashjoin", "enable_mergejoin"} {
		s[way] = "off"
	}
	s["plan_cache_mode"] = "force_generic_plan"
	return s
}

// reading are the settings of sessions for reads of any length. Their statements
// are planned each time, for the tables as they are now.
func reading() settings {
	s := always()
	s["default_transaction_read_only"] = "on"
	s["statement_timeout"] = milliseconds(readTime)
	s["plan_cache_mode"] = "force_custom_plan"
	s["idle_in_transaction_session_timeout"] = milliseconds(usedTime)
	return s
}

// shortly are the settings of sessions for leases and short reads.
func (o *Options) shortly(readOnly bool) settings {
	s := o.writing()
	s["plan_cache_mode"] = "force_custom_plan"
	if readOnly {
		s["default_transaction_read_only"] = "on"
	}
	return s
}

func milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

// connect opens a connection that belongs to no pool.
func (t *target) connect(ctx context.Context) (*pgx.Conn, error) {
	c := t.config.ConnConfig.Copy()
	always().into(c)
	return pgx.ConnectConfig(ctx, c)
}

func (s settings) into(c *pgx.ConnConfig) {
	for name, value := range s {
		if _, given := c.RuntimeParams[name]; !given {
			c.RuntimeParams[name] = value
		}
	}
}

// pool opens a pool of at most n connections, the first of which is made when it
// is needed.
func (l *Ledger) pool(ctx context.Context, n int, s settings) (*pgxpool.Pool, error) {
	c := l.target.config.Copy()
	s.into(c.ConnConfig)
	c.MaxConns, c.MinConns, c.MinIdleConns = int32(n), 0, 0
	c.PingTimeout = min(pingTime, l.opts.Patience)
	c.BeforeConnect, c.AfterConnect = lay, l.greet
	return pgxpool.NewWithConfig(ctx, c)
}

// greet makes a new session's commits durable, whatever the configuration of
// the server says now or later, lets it warn of those that are not, and makes
// sure that behind the address is the ledger that was opened.
func (l *Ledger) greet(ctx context.Context, conn *pgx.Conn) error {
	var level, words, id string
	err := conn.QueryRow(ctx, `SELECT set_config('synchronous_commit',
			CASE current_setting('synchronous_commit') WHEN 'off' THEN 'on' ELSE current_setting('synchronous_commit') END, false),
		set_config('client_min_messages', 'warning', false),
		coalesce((SELECT id FROM ledger), '')`).Scan(&level, &words, &id)
	if err != nil {
		return err
	}
	if id != l.id {
		return fmt.Errorf("%w: the database holds ledger %q, this server began with %q: stop, and look who has replaced it", ErrGone, id, l.id)
	}
	return nil
}

// dial opens TCP connections whose silent end is noticed after 25 seconds.
func dial() func(ctx context.Context, network, addr string) (net.Conn, error) {
	d := &net.Dialer{KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 10 * time.Second, Interval: 5 * time.Second, Count: 3}}
	return d.DialContext
}
