package clustertest

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"rushgate"
	"rushgate/admission"
	"rushgate/gate/redis"
	"rushgate/internal/binary"
	"rushgate/ledger/postgres"
	"rushgate/server"
)

// A mortal node is this test binary, started again as a node that kills itself
// at one exact moment: the moments that chance seldom hits.
const (
	childMoment = "CLUSTERTEST_CHILD" // one of the moments below
	childLedger = "CLUSTERTEST_LEDGER"
	childGate   = "CLUSTERTEST_GATE"

	beforeRecord = "before" // the script has run, the ledger knows nothing
	afterRecord  = "after"  // recorded; not settled, and nobody has been told
)

// mortalBatches is how many batches with grants a mortal node survives.
const mortalBatches = 5

// mortalNode is the number of the mortal node, which takes no lease for it: a
// higher one than the real ones get.
const mortalNode = rushgate.MaxNode

func startMortal(p plan) (*binary.Server, error) {
	return binary.StartCommand(os.Args[0], []string{childMoment + "=" + p.mortal, childLedger + "=" + p.ledger.url, childGate + "=" + p.gate})
}

// childMain serves until it kills itself; it returns only when it cannot serve.
func childMain(moment string) int {
	if err := serveUntil(moment); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	return 1
}

func serveUntil(moment string) error {
	ctx := context.Background()
	log := slog.New(slog.NewJSONHandler(os.Stderr, nil))
	ledger, err := postgres.Open(ctx, os.Getenv(childLedger), postgres.Options{Log: log})
	if err != nil {
		return err
	}
	gate, err := redis.Open(ctx, os.Getenv(childGate), redis.Options{Ledger: ledger.ID(), Log: log})
	if err != nil {
		return err
	}
	metrics := server.NewMetrics()
	service, err := rushgate.Open(ctx, rushgate.Config{Gate: gate, Ledger: &mortal{Ledger: ledger, moment: moment},
		Log: log, Observe: metrics, Node: mortalNode, AdoptAfter: time.Second, Chores: func() bool { return false }})
	if err != nil {
		return err
	}
	handler, err := server.New(server.Config{Service: service, Identity: admission.Dev{}, AdminToken: token, Metrics: metrics, Log: log})
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	log.Info("serving", "url", "http://"+listener.Addr().String())
	return handler.HTTPServer().Serve(listener)
}

// mortal is a ledger that ends the process when it is to record grants.
type mortal struct {
	rushgate.Ledger
	moment  string
	batches atomic.Int64
}

// Record records, or ends this process at once, as SIGKILL from outside would.
func (m *mortal) Record(ctx context.Context, b *rushgate.Batch) error {
	last := grants(b) && m.batches.Add(1) > mortalBatches
	if last && m.moment == beforeRecord {
		die()
	}
	err := m.Ledger.Record(ctx, b)
	if last && m.moment == afterRecord {
		die()
	}
	return err
}

func grants(b *rushgate.Batch) bool {
	for _, step := range b.Steps {
		if _, ok := step.(*rushgate.Grant); ok {
			return true
		}
	}
	return false
}

func die() {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {} // the signal is on its way
}
