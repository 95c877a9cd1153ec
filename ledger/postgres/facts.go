package postgres

import (
	"context"
	"time"
)

// Facts are what somebody should know of the server before relying on it.
type Facts struct {
	Version           string // of the server
	Primary           bool   // false: a standby, which takes no writes
	ReadOnly          bool   // this user's transactions cannot write
	Fsync             bool   // false: a power loss may damage the database
	FullPageWrites    bool   // false: a power loss may damage the database, unless the file system writes whole pages
	SynchronousCommit string // as configured; a ledger raises "off" to "on" in its own sessions
	Standbys          string // synchronous_standby_names: empty, one server's disk is all that a commit waits for
	MaxConnections    int
	Connections       int           // in use now, by everybody
	Encrypted         bool          // this connection uses TLS
	Skew              time.Duration // the server's clock less this program's, give or take Within
	Within            time.Duration
	Tables            int64    // version of the tables; 0: there are none
	Known             int64    // version that this program knows
	ID                string   // of the ledger; empty: there is none
	Missing           []string // rights that a server needs and this user lacks, as "INSERT on claims"
}

// Probe looks at a server without changing anything; the tables need not be
// there. now is this program's clock.
func Probe(ctx context.Context, url string, now func() time.Time) (*Facts, error) {
	var o Options
	if err := o.defaults(); err != nil {
		return nil, err
	}
	t, err := parse(url, o.Patience)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, 2*o.Patience) // connecting, and looking
	defer cancel()
	f, err := t.probe(ctx, now)
	if err != nil {
		return nil, t.explain(err)
	}
	return f, nil
}

func (t *target) probe(ctx context.Context, now func() time.Time) (f *Facts, err error) {
	conn, err := t.connect(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	f = &Facts{}
	var standby bool
	err = conn.QueryRow(ctx, `SELECT current_setting('server_version'), pg_is_in_recovery(), current_setting('transaction_read_only')::bool,
		current_setting('fsync')::bool, current_setting('full_page_writes')::bool, current_setting('synchronous_commit'),
		current_setting('synchronous_standby_names'), current_setting('max_connections')::int,
		(SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'),
		coalesce((SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()), false)`).Scan(
		&f.Version, &standby, &f.ReadOnly, &f.Fsync, &f.FullPageWrites, &f.SynchronousCommit,
		&f.Standbys, &f.MaxConnections, &f.Connections, &f.Encrypted)
	if err != nil {
		return nil, err
	}
	f.Primary = !standby
	before := now()
	var theirs time.Time
	if err := conn.QueryRow(ctx, `SELECT clock_timestamp()`).Scan(&theirs); err != nil {
		return nil, err
	}
	f.Within = now().Sub(before) / 2
	f.Skew = theirs.Sub(before.Add(f.Within))
	if f.Tables, f.Known, err = versions(ctx, conn); err != nil || f.Tables == 0 {
		return f, err
	}
	if f.Missing, err = missingRights(ctx, conn, "SELECT, INSERT, UPDATE"); err != nil {
		return nil, err
	}
	return f, conn.QueryRow(ctx, `SELECT id FROM ledger`).Scan(&f.ID)
}
