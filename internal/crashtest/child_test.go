package crashtest

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"syscall"

	"rushgate"
	"rushgate/admission"
	"rushgate/gate/memory"
	"rushgate/ledger/sqlite"
	"rushgate/server"
)

// The child is this test binary, started again as a server that kills itself
// at one exact moment of its second batch with grants: the moments that chance
// seldom hits.
const (
	childMode    = "CRASHTEST_CHILD" // one of the moments below
	childData    = "CRASHTEST_DATA"
	beforeCommit = "before" // decided by the gate, not recorded
	afterCommit  = "after"  // recorded, and nobody has been told
)

// childMain serves until it kills itself; it returns only when it cannot serve.
func childMain(moment string) int {
	if err := serveUntil(moment, os.Getenv(childData)); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	return 1
}

func serveUntil(moment, data string) error {
	ctx := context.Background()
	log := slog.New(slog.NewJSONHandler(os.Stderr, nil))
	batches := 0
	ledger, err := sqlite.Open(ctx, data, sqlite.Options{Log: log, Commit: func(commit func() error) error {
		batches++
		last := batches == 3 // the sale, the first claim, and now
		if last && moment == beforeCommit {
			die()
		}
		err := commit()
		if last && moment == afterCommit {
			die()
		}
		return err
	}})
	if err != nil {
		return err
	}
	metrics := server.NewMetrics()
	service, err := rushgate.Open(ctx, rushgate.Config{Gate: memory.New(), Ledger: ledger, Log: log, Observe: metrics})
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

// die ends this process at once, as SIGKILL from outside would.
func die() {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {} // the signal is on its way
}
