package postgres

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
)

//go:embed migrations/*.sql
var migrations embed.FS

// migrationLock is the number of the advisory lock that one node at a time has
// while it changes the tables: "rushgate" in ASCII.
const migrationLock int64 = 0x7275736867617465

// upgrade brings the tables up to this program's version, unless they have it.
func (l *Ledger) upgrade(ctx context.Context, conn *pgx.Conn) error {
	have, known, err := versions(ctx, conn)
	switch {
	case err != nil:
		return err
	case have > known:
		return newer(have, known)
	case have == known:
		return nil
	}
	// Another node may be at it: then this one waits, and finds it done.
	if _, err := conn.Exec(ctx, `SELECT pg_advisory_lock($1)`, migrationLock); err != nil {
		return err
	}
	return errors.Join(l.migrate(ctx), unlock(ctx, conn))
}

func unlock(ctx context.Context, conn *pgx.Conn) error {
	_, err := conn.Exec(ctx, `SELECT pg_advisory_unlock($1)`, migrationLock)
	return err
}

// migrate carries out what is missing, each migration in a transaction of its own.
func (l *Ledger) migrate(ctx context.Context) error {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return err
	}
	c := l.target.config.ConnConfig.Copy()
	always().into(c)
	db := stdlib.OpenDB(*c)
	p, err := goose.NewProvider(goose.DialectPostgres, db, files, goose.WithDisableGlobalRegistry(true))
	if err == nil {
		_, err = p.Up(ctx)
	}
	return errors.Join(err, db.Close())
}

// versions returns the version that the tables have, 0 for none, and the one
// that this program knows.
func versions(ctx context.Context, conn *pgx.Conn) (have, known int64, err error) {
	files, err := fs.ReadDir(migrations, "migrations")
	if err != nil {
		return 0, 0, err
	}
	known = int64(len(files))
	var there bool
	if err := conn.QueryRow(ctx, `SELECT to_regclass('goose_db_version') IS NOT NULL`).Scan(&there); err != nil || !there {
		return 0, known, err
	}
	err = conn.QueryRow(ctx, `SELECT coalesce(max(version_id), 0) FROM goose_db_version WHERE is_applied`).Scan(&have)
	return have, known, err
}

// sameVersion checks, without writing, that the tables are those of this program.
func sameVersion(ctx context.Context, conn *pgx.Conn) error {
	have, known, err := versions(ctx, conn)
	switch {
	case err != nil:
		return err
	case have > known:
		return newer(have, known)
	case have == 0:
		return fmt.Errorf("%w: there is no ledger in this database: name the one of a server, or start the server once", errExplained)
	case have < known:
		return fmt.Errorf("%w: made by an older Rushgate (tables of version %d, this program needs %d): start the server once to bring them up to date",
			errExplained, have, known)
	}
	return nil
}

func newer(have, known int64) error {
	return fmt.Errorf("the ledger was %w: the tables have version %d, this program knows %d: use the newer program, or restore a backup from before the upgrade",
		ErrNewer, have, known)
}

// oldest is the oldest server that has all that is used here.
const oldest = 130000

// writable refuses a server that is too old, or takes no writes, and warns of one
// that does not wait for its disk.
func (l *Ledger) writable(ctx context.Context, conn *pgx.Conn) error {
	var number int
	var version string
	var standby, readOnly, fsync bool
	err := conn.QueryRow(ctx, `SELECT current_setting('server_version_num')::int, current_setting('server_version'),
		pg_is_in_recovery(), current_setting('transaction_read_only')::bool, current_setting('fsync')::bool`).Scan(
		&number, &version, &standby, &readOnly, &fsync)
	if err == nil && !fsync {
		l.opts.Log.Warn("the ledger's server runs with fsync=off: a loss of power takes what was acknowledged, and may damage the database",
			"server", l.target.address())
	}
	switch {
	case err != nil:
		return err
	case number < oldest:
		return fmt.Errorf("%w: the server is PostgreSQL %s: 13 or newer is needed", errExplained, version)
	case standby:
		return fmt.Errorf("%w: the server is a standby, which takes no writes: name the primary in the ledger's address", errExplained)
	case readOnly:
		return fmt.Errorf("%w: the server takes no writes from this user: mend default_transaction_read_only", errExplained)
	}
	return nil
}

// ours are the tables of a ledger.
var ours = [...]string{"sales", "items", "claims", "events", "batches", "leases", "ledger"}

// allowed refuses a user who may not do with the tables what a ledger does.
func allowed(ctx context.Context, conn *pgx.Conn, readOnly bool) error {
	rights := "SELECT, INSERT, UPDATE"
	if readOnly {
		rights = "SELECT"
	}
	missing, err := missingRights(ctx, conn, rights)
	if err != nil || len(missing) == 0 {
		return err
	}
	return fmt.Errorf("%w: user %q lacks %s: let the owner of the tables say GRANT %s ON ALL TABLES IN SCHEMA public TO %[2]q",
		errExplained, conn.Config().User, strings.Join(missing, ", "), rights)
}

// missingRights lists those of the rights that the user does not have, as
// "INSERT on claims".
func missingRights(ctx context.Context, conn querier, rights string) ([]string, error) {
	rows, err := conn.Query(ctx, `SELECT r.name || ' on ' || t.name
		FROM unnest($1::text[]) AS t(name), unnest(string_to_array($2, ', ')) AS r(name)
		WHERE NOT has_table_privilege(t.name, r.name) AND (t.name <> 'ledger' OR r.name = 'SELECT')`, ours[:], rights)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}
