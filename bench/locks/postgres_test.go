package locks_test

import (
	"context"
	"crypto/rand"
	"errors"
	"hash/fnv"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"rushgate/internal/testenv"
	"rushgate/lock/postgres"
)

func postgresSystems(b *testing.B) []system {
	url := testenv.PostgreSQL(b).NewDatabase(b)
	return []system{oursInPostgres(b, url), advisory(b, url, "SELECT pg_advisory_lock($1)", "advisory"),
		// The fence is taken in the same request, once the lock is there.
		advisory(b, url, "SELECT nextval('fence') FROM pg_advisory_lock($1)", "advisory+fence"),
		row(b, url)}
}

// connections are as many as goroutines in any load: an advisory lock has one for as
// long as it is held, and one for as long as it waits.
func connections(b *testing.B, url string) *pgxpool.Pool {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		b.Fatal(err)
	}
	config.MaxConns = 16
	pool, err := pgxpool.NewWithConfig(b.Context(), config)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(pool.Close)
	return pool
}

func oursInPostgres(b *testing.B, url string) system {
	pool := connections(b, url)
	if err := postgres.Prepare(b.Context(), pool, postgres.Options{}); err != nil {
		b.Fatal(err)
	}
	backend, err := postgres.New(pool, postgres.Options{})
	if err != nil {
		b.Fatal(err)
	}
	return lockedBy(b, backend)
}

// advisory is what people write by hand: a lock of the session's, on a connection
// that stays with it. It is not the same guarantee. It writes nothing, is gone
// with its connection without a word to its holder, who may go on, and stays
// with a holder that hangs for as long as TCP keeps the connection.
// (https://www.postgresql.org/docs/current/explicit-locking.html#ADVISORY-LOCKS)
func advisory(b *testing.B, url, take, name string) system {
	pool := connections(b, url)
	if _, err := pool.Exec(b.Context(), "CREATE SEQUENCE IF NOT EXISTS fence"); err != nil {
		b.Fatal(err)
	}
	return system{name, func(ctx context.Context, key string) (func(context.Context) error, error) {
		h := fnv.New64a()
		h.Write([]byte(name + key))
		number := int64(h.Sum64())
		conn, err := pool.Acquire(ctx)
		if err != nil {
			return nil, err
		}
		if _, err := conn.Exec(ctx, take, number); err != nil {
			conn.Release()
			return nil, err
		}
		return func(ctx context.Context) error {
			defer conn.Release()
			var had bool
			err := conn.QueryRow(ctx, "SELECT pg_advisory_unlock($1)", number).Scan(&had)
			if err == nil && !had {
				err = errors.New("it was not held: " + strconv.FormatInt(number, 16))
			}
			return err
		}, nil
	}}
}

// row is what people write by hand where a lock must have a lease and outlive its
// connection: a row for each lock that is held, with a fence. That is the same
// guarantee, but for who waits: they ask again and again, and nobody is first.
func row(b *testing.B, url string) system {
	pool := connections(b, url)
	const table = "CREATE TABLE IF NOT EXISTS held (key text PRIMARY KEY, owner text NOT NULL, ends timestamptz NOT NULL, fence bigint NOT NULL)"
	if _, err := pool.Exec(b.Context(), table); err != nil {
		b.Fatal(err)
	}
	const take = `INSERT INTO held VALUES ($1, $2, clock_timestamp() + $3 * interval '1 second', nextval('fence'))
		ON CONFLICT (key) DO UPDATE SET owner = excluded.owner, ends = excluded.ends, fence = excluded.fence
		WHERE held.ends <= clock_timestamp()`
	return system{"row", func(ctx context.Context, key string) (func(context.Context) error, error) {
		owner := rand.Text()
		for {
			got, err := pool.Exec(ctx, take, key, owner, int(lease.Seconds()))
			if err != nil {
				return nil, err
			}
			if got.RowsAffected() == 1 {
				break
			}
			<-time.After(retry)
		}
		return func(ctx context.Context) error {
			got, err := pool.Exec(ctx, "DELETE FROM held WHERE key = $1 AND owner = $2", key, owner)
			if err == nil && got.RowsAffected() == 0 {
				err = errors.New("it was not held: " + owner)
			}
			return err
		}, nil
	}}
}

// BenchmarkPostgres is BenchmarkLocks for locks in PostgreSQL, with its default
// durability.
func BenchmarkPostgres(b *testing.B) {
	loads(b, postgresSystems(b), []load{{"uncontended=1", 1, 1}, {"uncontended=16", 16, 16}, {"contended=16", 16, 1}})
}
