package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"
)

//go:embed migrations/*.sql
var migrations embed.FS

// migrate brings the database up to this program's version of the tables, each
// migration in a transaction of its own.
func migrate(ctx context.Context, db *sql.DB) error {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return err
	}
	p, err := goose.NewProvider(goose.DialectSQLite3, db, files, goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return err
	}
	have, known, err := p.GetVersions(ctx)
	if err != nil {
		return err
	}
	if have > known {
		return newer(have, known)
	}
	_, err = p.Up(ctx)
	return err
}

// sameVersion checks, without writing, that the tables are those of this program.
func sameVersion(ctx context.Context, db *sql.DB) error {
	files, err := fs.ReadDir(migrations, "migrations")
	if err != nil {
		return err
	}
	known := int64(len(files))
	var have int64
	if err := db.QueryRowContext(ctx, `SELECT max(version_id) FROM goose_db_version`).Scan(&have); err != nil {
		return fmt.Errorf("read the version of the tables: %w", err)
	}
	switch {
	case have > known:
		return newer(have, known)
	case have < known:
		return fmt.Errorf("made by an older Rushgate (tables of version %d, this program needs %d): start the server once to bring them up to date", have, known)
	}
	return nil
}

func newer(have, known int64) error {
	return fmt.Errorf("%w: the tables have version %d, this program knows %d: use the newer program, or restore a backup from before the upgrade",
		ErrNewer, have, known)
}
