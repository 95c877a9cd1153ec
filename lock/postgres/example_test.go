package postgres_test

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"

	"rushgate/lock"
	"rushgate/lock/postgres"
)

func Example() {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, "postgres://app@localhost/app")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer pool.Close()
	if err := postgres.Prepare(ctx, pool, postgres.Options{}); err != nil {
		fmt.Println(err)
		return
	}
	backend, err := postgres.New(pool, postgres.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	locker, err := lock.New(backend, lock.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer locker.Close()
	fmt.Println(locker.TryLock(ctx, "report:2031"))
}
