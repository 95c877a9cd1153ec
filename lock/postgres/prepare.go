package postgres

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

//go:embed schema.sql
var schema string

// prepareLock is the number of the advisory lock that one process at a time has
// while it makes the schema: "lock" in ASCII.
const prepareLock int64 = 0x6c6f636b

// Prepare makes the schema with its tables and functions, or brings it up to
// this version. It may be called at every start, by a user who may create
// there; users of locks need EXECUTE on its functions, USAGE on its sequences
// (and UPDATE on fences), and SELECT, INSERT, UPDATE and DELETE on its table.
func Prepare(ctx context.Context, pool *pgxpool.Pool, opts Options) error {
	if err := opts.complete(); err != nil {
		return err
	}
	return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		for _, statement := range []string{
			fmt.Sprintf("SELECT pg_advisory_xact_lock(%d)", prepareLock),
			"CREATE SCHEMA IF NOT EXISTS " + opts.Schema,
			"SET LOCAL search_path TO " + opts.Schema + ", pg_temp", // which would else come first
			"SET LOCAL client_min_messages TO warning",
			schema,
		} {
			// Simple protocol: schema is many statements.
			if _, err := tx.Exec(ctx, statement, pgx.QueryExecModeSimpleProtocol); err != nil {
				return fmt.Errorf("prepare the schema %s for locks: %w", opts.Schema, err)
			}
		}
		return nil
	})
}
