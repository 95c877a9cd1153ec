package postgres_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"rushgate/lock"
	"rushgate/lock/postgres"
)

// A pool whose passwords are fetched for each connection, as managed servers want
// it, has a listener that gets one too. Here it is the user's name that is filled in.
func TestAListenerConnectsAsThePoolDoes(t *testing.T) {
	url := server.Server(t).NewDatabase(t)
	backend(t, pool(t, url), postgres.Options{})
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	user := config.ConnConfig.User
	config.ConnConfig.User = "nobody"
	config.BeforeConnect = func(_ context.Context, c *pgx.ConnConfig) error {
		c.User = user
		return nil
	}
	p, err := pgxpool.NewWithConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	b, err := postgres.New(p, postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	heard := false
	err = b.Listen(ctx, "node", func() { heard = true; cancel() }, func(lock.Grant) {})
	if !heard {
		t.Fatal(err)
	}
}
