package postgres_test

import (
	"context"
	"fmt"
	"os"

	"github.com/jackc/pgx/v5/pgxpool"

	"rushgate/lock/locktest"
	"rushgate/lock/postgres"
)

// childMain works in another process: see locktest.Work.
func childMain(url string) int {
	p, err := pgxpool.New(context.Background(), url)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer p.Close()
	b, err := postgres.New(p, postgres.Options{})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return locktest.Work(b)
}
