package mysql

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/pressly/goose/v3"
)

//go:embed migrations/*.sql
var migrations embed.FS

// migrationWait is how long a node waits for another one that is migrating.
const migrationWait = time.Minute

// upgrade brings the tables up to this program's version. Nodes that start at
// the same time take turns; one that finds nothing to do needs no right to.
func (l *Ledger) upgrade(ctx context.Context) error {
	err := sameVersion(ctx, l.short)
	if !errors.Is(err, errOlder) && !errors.Is(err, errNone) {
		return err
	}
	db := l.pool(2, longPatience, slowReader)
	return errors.Join(l.inTurn(ctx, db, func() error { return migrate(ctx, db) }), db.Close())
}

// inTurn calls f while this node holds the lock of the server by which nodes
// take turns. The server gives it free when the connection ends, however it ends.
func (l *Ledger) inTurn(ctx context.Context, db *sql.DB, f func() error) error {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	// Locks have names of at most 64 characters, the same for all databases.
	const name = `CONCAT('rushgate/', LEFT(SHA2(DATABASE(), 256), 40))`
	if _, err := conn.ExecContext(ctx, `SET SESSION wait_timeout = 3600`); err != nil { // as a migration may take long
		return err
	}
	var taken sql.NullBool
	if err := conn.QueryRowContext(ctx, `SELECT GET_LOCK(`+name+`, ?)`, seconds(migrationWait)).Scan(&taken); err != nil {
		return err
	}
	if !taken.Bool {
		return fmt.Errorf("another node has been bringing the tables up to date for %s: wait for it, and start again", migrationWait)
	}
	err = f()
	_, unlock := conn.ExecContext(context.WithoutCancel(ctx), `DO RELEASE_LOCK(`+name+`)`)
	return errors.Join(err, unlock)
}

// migrate carries out what is missing. MySQL commits at every CREATE: a crash
// may leave any part of a migration behind, and it is begun anew the next time.
func migrate(ctx context.Context, db *sql.DB) error {
	if err := makeVersions(ctx, db); err != nil {
		return err
	}
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return err
	}
	p, err := goose.NewProvider(goose.DialectMySQL, db, files, goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return err
	}
	_, err = p.Up(ctx)
	return err
}

// makeVersions makes the table of versions as goose does, but so that a crash
// between the table and its first row does no harm.
func makeVersions(ctx context.Context, db *sql.DB) error {
	_, err := db.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS goose_db_version (
		id         BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
		version_id BIGINT          NOT NULL,
		is_applied BOOLEAN         NOT NULL,
		tstamp     DATETIME        NULL DEFAULT CURRENT_TIMESTAMP
	) ENGINE = InnoDB`)
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, `INSERT INTO goose_db_version (version_id, is_applied)
		SELECT 0, 1 FROM DUAL WHERE NOT EXISTS (SELECT 1 FROM goose_db_version)`)
	return err
}

var (
	// errOlder marks tables that a migration has yet to bring up to date.
	errOlder = errors.New("made by an older Rushgate")

	// errNone marks a database without tables of ours.
	errNone = errors.New("there is no ledger in the database: name another one, or start a node once to make it")
)

// sameVersion checks, without writing, that the tables are those of this program.
func sameVersion(ctx context.Context, r reader) error {
	have, known, err := versions(ctx, r)
	switch {
	case err != nil:
		return err
	case have > known:
		return fmt.Errorf("%w: the tables have version %d, this program knows %d: use the newer program, or restore a backup from before the upgrade",
			ErrNewer, have, known)
	case have == 0:
		return errNone
	case have < known:
		return fmt.Errorf("%w (tables of version %d, this program needs %d): start a node once to bring them up to date", errOlder, have, known)
	}
	return nil
}

// versions returns the version of the tables, 0 if there are none, and the one
// that this program knows.
func versions(ctx context.Context, r reader) (have, known int64, err error) {
	files, err := fs.ReadDir(migrations, "migrations")
	if err != nil {
		return 0, 0, err
	}
	err = r.QueryRowContext(ctx, `SELECT COALESCE(MAX(version_id), 0) FROM goose_db_version`).Scan(&have)
	if number(err) == erNoSuchTable {
		err = nil
	}
	if err != nil {
		err = fmt.Errorf("read the version of the tables: %w", err)
	}
	return have, int64(len(files)), err
}
