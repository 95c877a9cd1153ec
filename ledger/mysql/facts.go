package mysql

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"time"
)

// Facts are what somebody should know of the server before relying on it.
type Facts struct {
	Family         string // MariaDB or MySQL
	Version        string
	ReadOnly       bool          // the server takes no writes, but from those with a special right
	FlushLog       int           // innodb_flush_log_at_trx_commit; unless it is 1, a power loss takes what was acknowledged, up to a second of it
	DoubleWrite    bool          // false: a power loss may damage the database, unless the disk writes whole pages
	Binlog         bool          // a binary log is kept: for replicas, and for commits to be on the disk before anybody sees them
	SyncBinlog     int           // sync_binlog; where there is a binary log, unless it is 1, a power loss may take commits from it
	BinlogFormat   string        // STATEMENT refuses every batch
	MaxPacket      int64         // max_allowed_packet in bytes; the ledger needs 16 MiB for its largest batches
	MaxConnections int           // of all users together
	Connections    int           // in use now, by everybody
	Encrypted      bool          // this connection uses TLS
	Skew           time.Duration // the server's clock less this program's, give or take Within
	Within         time.Duration
	Tables         int64    // version of the tables; 0: there are none
	Known          int64    // version that this program knows
	ID             string   // of the ledger; empty: there is none
	Missing        []string // rights that a node needs and this user lacks, as "INSERT on claims"
}

// Probe looks at a server without changing anything; the tables need not be
// there. now is this program's clock.
func Probe(ctx context.Context, url string, now func() time.Time) (*Facts, error) {
	l, err := connect(url, Options{Now: now}, true)
	if err != nil {
		return nil, err
	}
	defer l.Close()
	f, err := l.probe(ctx)
	if err != nil {
		return nil, l.at.explain(err)
	}
	return f, nil
}

func (l *Ledger) probe(ctx context.Context) (*Facts, error) {
	conn, err := l.short.Conn(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	f := &Facts{}
	if err := f.settings(ctx, conn); err != nil {
		return nil, err
	}
	if err := f.clock(ctx, conn, l.opts.Now); err != nil {
		return nil, err
	}
	if f.Tables, f.Known, err = versions(ctx, conn); err != nil || f.Tables == 0 {
		return f, err
	}
	if err := f.rights(ctx, conn); err != nil {
		return nil, err
	}
	err = conn.QueryRowContext(ctx, sqlIdentity).Scan(&f.ID)
	if errors.Is(err, errNoRows) || forbidden(err) {
		err = nil // which Tables and Missing tell
	}
	return f, err
}

func (f *Facts) settings(ctx context.Context, r reader) error {
	var version, readOnly, doubleWrite, binlog string
	err := r.QueryRowContext(ctx, `SELECT VERSION(), @@GLOBAL.read_only, @@GLOBAL.innodb_flush_log_at_trx_commit, @@GLOBAL.innodb_doublewrite,
		@@GLOBAL.log_bin, @@GLOBAL.sync_binlog, @@GLOBAL.binlog_format, @@GLOBAL.max_allowed_packet, @@GLOBAL.max_connections`).Scan(
		&version, &readOnly, &f.FlushLog, &doubleWrite, &binlog, &f.SyncBinlog, &f.BinlogFormat, &f.MaxPacket, &f.MaxConnections)
	if err != nil {
		return err
	}
	f.Family, f.Version = familyOf(version)
	f.ReadOnly, f.DoubleWrite, f.Binlog = on(readOnly), on(doubleWrite), on(binlog)
	var name, cipher string
	if err := r.QueryRowContext(ctx, `SHOW GLOBAL STATUS LIKE 'Threads_connected'`).Scan(&name, &f.Connections); err != nil {
		return err
	}
	err = r.QueryRowContext(ctx, `SHOW SESSION STATUS LIKE 'Ssl_cipher'`).Scan(&name, &cipher)
	f.Encrypted = cipher != ""
	return err
}

// on reads a switch, which the families and their versions write in many ways.
func on(value string) bool {
	switch strings.ToUpper(value) {
	case "0", "OFF", "":
		return false
	}
	return true
}

// clock compares the clocks. The server's was read somewhere between two looks
// at ours.
func (f *Facts) clock(ctx context.Context, r reader, now func() time.Time) error {
	before := now()
	var micros int64
	if err := r.QueryRowContext(ctx, `SELECT CAST(UNIX_TIMESTAMP(NOW(6)) * 1000000 AS SIGNED)`).Scan(&micros); err != nil {
		return err
	}
	f.Within = now().Sub(before) / 2
	f.Skew = time.UnixMicro(micros).Sub(before.Add(f.Within))
	return nil
}

// needs is a statement for every right that a node needs. They are explained,
// not carried out.
var needs = []struct{ right, statement string }{
	{"UPDATE on sales", `UPDATE sales SET last_seq = last_seq WHERE id = ''`},
	{"UPDATE on items", `UPDATE items SET taken = taken WHERE sale = ''`},
	{"UPDATE on claims", `UPDATE claims SET state = state WHERE id = 0`},
	{"UPDATE on leases", `UPDATE leases SET term = term WHERE name = ''`},
	{"UPDATE on ledger", `UPDATE ledger SET settled = settled WHERE one = 0`},
	{"INSERT on sales", `INSERT INTO sales SELECT * FROM sales WHERE id = ''`},
	{"INSERT on items", `INSERT INTO items SELECT * FROM items WHERE sale = ''`},
	{"INSERT on claims", `INSERT INTO claims SELECT * FROM claims WHERE id = 0`},
	{"INSERT on events", `INSERT INTO events SELECT * FROM events WHERE sale = ''`},
	{"INSERT on leases", `INSERT INTO leases SELECT * FROM leases WHERE name = ''`},
	{"INSERT on batches", `INSERT INTO batches SELECT * FROM batches WHERE id = 0`},
}

// rights finds out what this user may not do.
func (f *Facts) rights(ctx context.Context, conn *sql.Conn) error {
	// Where nothing may be written, MariaDB does not explain how it would be.
	if _, err := conn.ExecContext(ctx, `SET SESSION TRANSACTION READ WRITE`); err != nil {
		return err
	}
	for _, table := range []string{"sales", "items", "claims", "events", "batches", "leases", "ledger"} {
		if err := f.right(ctx, conn, "SELECT on "+table, `SELECT * FROM `+table+` WHERE FALSE`); err != nil {
			return err
		}
	}
	for _, n := range needs {
		if err := f.right(ctx, conn, n.right, n.statement); err != nil {
			return err
		}
	}
	return nil
}

func (f *Facts) right(ctx context.Context, conn *sql.Conn, right, statement string) error {
	_, err := conn.ExecContext(ctx, `EXPLAIN `+statement)
	if forbidden(err) {
		f.Missing = append(f.Missing, right)
		return nil
	}
	return err
}
