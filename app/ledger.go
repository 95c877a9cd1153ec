package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"

	"rushgate"
	"rushgate/ledger/mysql"
	"rushgate/ledger/postgres"
	"rushgate/ledger/sqlite"
)

// The kinds of ledger: what --ledger begins with.
const (
	ledgerSQLite     = "sqlite"
	ledgerPostgres   = "postgres"
	ledgerPostgreSQL = "postgresql"
	ledgerMySQL      = "mysql"
)

// store is an open ledger, and what only one on a server has.
type store struct {
	rushgate.Ledger
	leases rushgate.Leases // nil: it belongs to one process
	id     string          // tells this ledger from every other
}

// alone says that the ledger is in the data folder.
func (c *Config) alone() bool { return c.Ledger == ledgerSQLite }

func (c *Config) validateLedger() error {
	switch kindOf(c.Ledger) {
	case ledgerSQLite:
		if c.Ledger == ledgerSQLite {
			return nil
		}
		return errors.New("--ledger sqlite takes no address: name its folder with --data")
	case ledgerPostgres, ledgerPostgreSQL:
		return ofLedger(postgres.CheckURL(c.Ledger))
	case ledgerMySQL:
		return ofLedger(mysql.CheckURL(c.Ledger))
	}
	return fmt.Errorf("--ledger %q: must be sqlite, postgres://user:password@host:port/database or mysql://user:password@host:port/database", place(c.Ledger))
}

// openLedger opens the ledger that the configuration names.
func openLedger(ctx context.Context, c *Config, log *slog.Logger) (store, error) {
	switch kindOf(c.Ledger) {
	case ledgerPostgres, ledgerPostgreSQL:
		l, err := postgres.Open(ctx, c.Ledger, postgres.Options{Log: log})
		if err != nil {
			return store{}, ofLedger(err)
		}
		return store{l, l, l.ID()}, nil
	case ledgerMySQL:
		l, err := mysql.Open(ctx, c.Ledger, mysql.Options{Log: log})
		if err != nil {
			return store{}, ofLedger(err)
		}
		return store{l, l, l.ID()}, nil
	}
	l, err := sqlite.Open(ctx, c.Data, sqlite.Options{Log: log})
	if err != nil {
		return store{}, err
	}
	id, err := folderID(c.Data)
	return store{l, nil, id}, err
}

// readLedger opens the ledger for looking: it changes nothing, and needs no more
// than the right to read.
func readLedger(ctx context.Context, c *Config) (rushgate.Ledger, error) {
	switch kindOf(c.Ledger) {
	case ledgerPostgres, ledgerPostgreSQL:
		l, err := postgres.OpenReadOnly(ctx, c.Ledger)
		return asLedger(l, ofLedger(err))
	case ledgerMySQL:
		l, err := mysql.OpenReadOnly(ctx, c.Ledger)
		return asLedger(l, ofLedger(err))
	}
	l, err := sqlite.OpenReadOnly(ctx, c.Data)
	return asLedger(l, err)
}

// asLedger keeps a nil pointer from becoming a ledger.
func asLedger[L rushgate.Ledger](l L, err error) (rushgate.Ledger, error) {
	if err != nil {
		return nil, err
	}
	return l, nil
}

// ofLedger names the setting that an error is about.
func ofLedger(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("--ledger: %w", err)
}

// folderID tells an embedded ledger from others by where it lies: it is for
// development with a Redis, where nobody else has it.
func folderID(data string) (string, error) {
	path, err := filepath.Abs(data)
	digest := sha256.Sum256([]byte(path))
	return "sqlite-" + hex.EncodeToString(digest[:12]), err
}
