package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"rushgate/client"
	"rushgate/internal/binary"
	"rushgate/internal/fleet"
	"rushgate/internal/testenv"
)

// measurement is one disaster, again and again.
type measurement struct {
	settings
	dir, program string
	progress     io.Writer
	gaps         []time.Duration // of each run, the time without service
}

const token = "the-admin-token-of-the-measurement"

// patience bounds every wait for something that must come about.
const patience = 2 * time.Minute

// cluster starts two nodes on a PostgreSQL of their own and makes a sale. The
// caller calls end.
func (m *measurement) cluster(ctx context.Context, gate string) (f *fleet.Fleet, end func(), err error) {
	dir, err := os.MkdirTemp(m.dir, "cluster-")
	if err != nil {
		return nil, nil, err
	}
	postgres, err := testenv.StartPostgres(dir)
	if err != nil {
		return nil, nil, err
	}
	f = fleet.New([]string{"one", "two"}, func(name string) fleet.Begin {
		return func() (*binary.Server, error) {
			return binary.Start(m.program, "--data", filepath.Join(dir, name), "--node", name, "--admin-token", token,
				"--ledger", postgres.URL("postgres"), "--gate", gate, "--lease", m.lease.String())
		}
	})
	end = func() { f.Close(); postgres.Stop() }
	if err = f.Start(); err == nil {
		err = m.sell(ctx, f)
	}
	if err != nil {
		end()
		return nil, nil, err
	}
	return f, end, nil
}

// sell makes a sale that does not end.
func (m *measurement) sell(ctx context.Context, f *fleet.Fleet) error {
	if err := until(ctx, func() error { _, err := seller(f); return err }); err != nil {
		return err
	}
	c, err := buyer(f)
	if err != nil {
		return err
	}
	_, err = c.CreateSale(ctx, client.Sale{ID: "s", Hold: "0", Items: []client.Item{{ID: "a", Stock: 1_000_000_000}}})
	return err
}

// buyer speaks to the fleet through its balancer, and asks once.
func buyer(f *fleet.Fleet) (*client.Client, error) {
	return client.New(fleet.Base, client.WithToken(token), client.WithRetry(client.Retry{Attempts: 1}),
		client.WithAttemptTimeout(answerWithin), client.WithHTTPClient(&http.Client{Transport: f.Balancer}))
}

// seller is a node that is ready.
func seller(f *fleet.Fleet) (*fleet.Node, error) {
	for _, n := range f.Nodes {
		if n.Ready() {
			return n, nil
		}
	}
	return nil, fmt.Errorf("no node is ready:\n%s", f.Log())
}

// keep adds a run.
func (m *measurement) keep(what string, gap time.Duration) {
	m.gaps = append(m.gaps, gap)
	fmt.Fprintf(m.progress, "%s, run %d of %d: %.2f s\n", what, len(m.gaps), m.runs, gap.Seconds())
}

// until asks again and again until there is no error.
func until(ctx context.Context, holds func() error) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		err := holds()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-tick.C:
		}
	}
}
