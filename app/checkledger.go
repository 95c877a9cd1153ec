package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"rushgate"
	"rushgate/ledger/mysql"
	"rushgate/ledger/postgres"
)

// ledger looks at a ledger on a server: can it be used, what does a commit there
// mean, and who else sells from it.
func (c *checkup) ledger(ctx context.Context) {
	var made bool // there are tables
	switch kindOf(c.cfg.Ledger) {
	case ledgerPostgres, ledgerPostgreSQL:
		made = c.postgres(ctx)
	case ledgerMySQL:
		made = c.mysql(ctx)
	default:
		return
	}
	if made {
		c.recorded(ctx)
	}
}

// recorded audits what is in the ledger, and looks for nodes that are alive.
func (c *checkup) recorded(ctx context.Context) {
	ledger, err := readLedger(ctx, &c.cfg)
	if err != nil {
		c.fail("database", err)
		return
	}
	n, err := c.sales(ctx, ledger)
	if err != nil {
		c.fail("database", err)
	} else {
		c.fine("database", "%d sales, every invariant holds", n)
	}
	if leases, ok := ledger.(rushgate.Leases); ok {
		c.nodes(ctx, leases)
	}
	if err := ledger.Close(); err != nil {
		c.fail("database", err)
	}
}

// nodes lists who sells from the ledger now, and whether this one may join.
func (c *checkup) nodes(ctx context.Context, leases rushgate.Leases) {
	mine := note{Name: c.cfg.nodeName(), Version: version(), Protocol: Protocol, Gate: place(c.cfg.Gate)}
	held, err := leases.Held(ctx, "")
	if err == nil {
		err = mine.agree(held, c.cfg.shared())
	}
	if err != nil {
		c.fail("nodes", err)
		return
	}
	var who, elsewhere []string
	for _, l := range held {
		if l.Name == leaseChores {
			continue
		}
		n := readNote(l.Note)
		who = append(who, fmt.Sprintf("%s: %s", l.Name, n.who()))
		if n.Gate != mine.Gate {
			elsewhere = append(elsewhere, fmt.Sprintf("%s with %s", n.who(), n.Gate))
		}
	}
	switch {
	case len(who) == 0:
		c.fine("nodes", "none sells now")
	case len(elsewhere) > 0:
		c.warn("nodes", "this one would sell with --gate %s, and %s: if that is not the same Redis, none of them can keep its picture of a sale",
			mine.Gate, strings.Join(elsewhere, ", "))
	default:
		c.fine("nodes", "%d: %s", len(who), strings.Join(who, ", "))
	}
}

// nodeConnections is how many connections one node has to its database at most:
// 13 on PostgreSQL, 12 on MySQL.
const nodeConnections = 13

// postgres looks at a PostgreSQL server, and says whether there are tables.
func (c *checkup) postgres(ctx context.Context) bool {
	f, err := postgres.Probe(ctx, c.cfg.Ledger, time.Now)
	if err != nil {
		c.fail("ledger", ofLedger(err))
		return false
	}
	switch {
	case !f.Primary:
		c.fail("ledger", errors.New("--ledger: the server is a standby, and takes no writes: name the primary"))
	case f.ReadOnly:
		c.fail("ledger", errors.New("--ledger: this user's transactions are read-only: mend default_transaction_read_only"))
	case f.Tables > f.Known:
		c.fail("ledger", newer(f.Tables, f.Known))
		return false
	case len(f.Missing) > 0:
		c.fail("ledger", lacking(f.Missing))
	default:
		c.fine("ledger", "PostgreSQL %s, %s", f.Version, tables(f.Tables, f.Known))
	}
	if !f.Fsync {
		c.warn("ledger fsync", "fsync is off: a power loss of the database server loses acknowledged claims and may damage the database; recorded is no promise there")
	}
	if !f.FullPageWrites {
		c.warn("ledger full_page_writes", "full_page_writes is off: a power loss of the database server may damage the database, unless its file system writes whole pages")
	}
	switch {
	case f.SynchronousCommit == "off":
		c.warn("ledger synchronous_commit", "synchronous_commit is off: nodes raise it to on for what they record; other programs' writes may be lost")
	case f.Standbys != "" && f.SynchronousCommit == "local":
		c.warn("ledger synchronous_commit", "synchronous_commit is local: a commit does not wait for %s, and a failover to it may lose acknowledged claims", f.Standbys)
	case f.Standbys == "":
		c.fine("ledger synchronous_commit", "a commit waits for this server's disk; a standby that takes over may lack the last ones, unless synchronous_standby_names names it")
	default:
		c.fine("ledger synchronous_commit", "%s, with %s", f.SynchronousCommit, f.Standbys)
	}
	c.ledgerID = f.ID
	c.connections(f.Connections, f.MaxConnections)
	c.encrypted(f.Encrypted)
	c.skew("ledger clock", "the database", f.Skew, f.Within)
	return f.Tables > 0
}

// mysql looks at a MySQL or MariaDB server, and says whether there are tables.
func (c *checkup) mysql(ctx context.Context) bool {
	f, err := mysql.Probe(ctx, c.cfg.Ledger, time.Now)
	if err != nil {
		c.fail("ledger", ofLedger(err))
		return false
	}
	switch {
	case f.ReadOnly:
		c.fail("ledger", errors.New("--ledger: the server is read-only: name the primary, or say SET GLOBAL read_only = OFF there"))
	case f.Tables > f.Known:
		c.fail("ledger", newer(f.Tables, f.Known))
		return false
	case len(f.Missing) > 0:
		c.fail("ledger", lacking(f.Missing))
	default:
		c.fine("ledger", "%s %s, %s", f.Family, f.Version, tables(f.Tables, f.Known))
	}
	if f.FlushLog != 1 {
		c.warn("ledger innodb_flush_log_at_trx_commit", "innodb_flush_log_at_trx_commit is %d: a power loss of the database server takes up to a second of acknowledged claims; recorded needs 1", f.FlushLog)
	} else {
		c.fine("ledger innodb_flush_log_at_trx_commit", "1: a commit waits for this server's disk; a replica that takes over may lack the last ones, unless it is semi-synchronous")
	}
	if !f.DoubleWrite {
		c.warn("ledger innodb_doublewrite", "innodb_doublewrite is off: a power loss of the database server may damage the database, unless its file system writes whole pages")
	}
	switch {
	case !f.Binlog:
		c.fine("ledger sync_binlog", "there is no binary log, and so no replica")
	case f.SyncBinlog != 1:
		c.warn("ledger sync_binlog", "sync_binlog is %d: after a power loss the binary log may lack acknowledged claims, and replicas with it; replicas that take over need 1", f.SyncBinlog)
	default:
		c.fine("ledger sync_binlog", "1")
	}
	if f.Binlog && f.BinlogFormat == "STATEMENT" {
		c.fail("ledger binlog_format", errors.New("--ledger: binlog_format is STATEMENT, with which the server refuses every batch: set it to ROW"))
	}
	if f.MaxPacket < mysqlPacket {
		c.warn("ledger max_allowed_packet", "max_allowed_packet is %d: the largest batches need %d, and are refused", f.MaxPacket, mysqlPacket)
	}
	c.ledgerID = f.ID
	c.connections(f.Connections, f.MaxConnections)
	c.encrypted(f.Encrypted)
	c.skew("ledger clock", "the database", f.Skew, f.Within)
	return f.Tables > 0
}

// mysqlPacket is what the largest batch may take, in bytes.
const mysqlPacket = 16 << 20

func newer(version, known int64) error {
	return fmt.Errorf("--ledger: its tables are of version %d, made by a newer Rushgate, and this one knows %d: run the newer one", version, known)
}

func lacking(rights []string) error {
	return fmt.Errorf("--ledger: this user lacks %s: let the owner of the tables GRANT SELECT, INSERT, UPDATE on all of them", strings.Join(rights, ", "))
}

// tables words the version of the ledger's tables.
func tables(version, known int64) string {
	switch {
	case version == 0:
		return "no tables yet; the first start makes them"
	case version < known:
		return fmt.Sprintf("tables of version %d; the next start brings them to %d, and older nodes must not run then", version, known)
	}
	return fmt.Sprintf("tables of version %d", version)
}

func (c *checkup) connections(used, limit int) {
	if limit-used < nodeConnections {
		c.warn("ledger connections", "%d of %d are in use, and a node takes up to %d: raise max_connections, or nodes wait for each other", used, limit, nodeConnections)
		return
	}
	c.fine("ledger connections", "%d of %d are in use; a node takes up to %d", used, limit, nodeConnections)
}

// encrypted warns of what crosses a network in the clear.
func (c *checkup) encrypted(tls bool) {
	switch {
	case tls:
		c.fine("ledger TLS", "on")
	case near(c.cfg.Ledger):
		c.fine("ledger TLS", "off, on this machine")
	default:
		c.warn("ledger TLS", "off: whoever reads the network reads claims, and may change them")
	}
}

// near says that a URL leads to this machine.
func near(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	return loopback(net.JoinHostPort(u.Hostname(), "0"))
}

// maxSkew is how far clocks may be apart before somebody notices.
const maxSkew = time.Second

// skew compares a server's clock with this machine's.
func (c *checkup) skew(name, who string, skew, within time.Duration) {
	if skew.Abs()-within > maxSkew {
		c.warn(name, "%s is %s %s this machine: windows and holds are by one clock at the gate and by the other elsewhere; synchronise them (chrony)",
			who, skew.Abs().Round(time.Millisecond), map[bool]string{true: "ahead of", false: "behind"}[skew > 0])
		return
	}
	c.fine(name, "%s differs from this machine by %s, give or take %s", who, skew.Round(time.Millisecond), within.Round(time.Millisecond))
}
