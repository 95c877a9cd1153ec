package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"syscall"
	"time"

	"rushgate/admission"
	"rushgate/internal/lane"
	"rushgate/internal/lifecycle"
	"rushgate/server"
)

// newHandler makes the handler. It has no service yet.
func (p *Program) newHandler(identity admission.Identity, unready func() string) (err error) {
	p.handler, err = server.New(server.Config{Identity: identity, AdminToken: p.token, Log: p.log, Metrics: p.metrics, Unready: unready})
	return err
}

// serve starts the HTTP server on a listener.
func (p *Program) serve(l net.Listener) error {
	handler := p.handler
	h := handler.HTTPServer()
	bound, err := connections(p.cfg.Connections)
	if err != nil {
		return err
	}
	express := handler.Express(handler.Limit(l, bound))
	p.log.Info("serving", "url", p.URL(), "ledger", place(p.cfg.Ledger), "gate", place(p.cfg.Gate), "data", p.cfg.Data, "identity", p.cfg.identity(), "connections", bound)
	return p.group.Start(lifecycle.Part{Name: "server",
		Run: func() error {
			if err := h.Serve(express); !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
				return err
			}
			return nil
		},
		Stop: func(ctx context.Context) error { return stopServing(ctx, handler, express, h) }})
}

// drain serves on for a while, so that the balancer sends nothing here any more
// when the connections are closed. Only where others sell meanwhile: everywhere
// else it would be time without service.
func (p *Program) drain() {
	if !p.cfg.shared() || p.cfg.Drain == 0 {
		return
	}
	p.log.Info("draining: /readyz sends the balancer to the other nodes", "for", p.cfg.Drain)
	p.handler.Drain(stopping)
	over := time.NewTimer(p.cfg.Drain)
	defer over.Stop()
	select {
	case <-over.C:
	case <-p.group.Ended():
	}
}

// stopping is why a server that ends is not ready.
const stopping = "the server is stopping"

// stopServing takes no more connections and finishes the requests that there
// are. Streams of events would never end by themselves: they are told to.
func stopServing(ctx context.Context, handler *server.Server, express *lane.Listener, h *http.Server) error {
	handler.SetReady(stopping)
	err := shutdown(ctx, express, h)
	if err != nil {
		err = errors.Join(err, h.Close())
	}
	handler.Close()
	return err
}

// shutdown stops the lane and net/http side by side: neither has to wait for
// the other's requests before it takes no more.
func shutdown(ctx context.Context, express *lane.Listener, h *http.Server) error {
	ended := make(chan error, 1)
	go func() { ended <- express.Shutdown(ctx) }()
	err := h.Shutdown(ctx)
	if errors.Is(err, net.ErrClosed) {
		err = nil // the lane was first to close the listener: no fault
	}
	return errors.Join(err, <-ended)
}

// reservedFiles is what the program itself opens beside connections: the
// ledger's files, the listener, logs, profiles.
const reservedFiles = 128

// connections returns how many connections may be open: what was asked for, or
// as many as the limit of open files allows. (Go raises the soft limit to the
// hard one at start, see os/rlimit.go.)
func connections(asked int) (int, error) {
	files, err := openFilesLimit()
	if err != nil {
		return 0, fmt.Errorf("the limit of open files cannot be read: %w", err)
	}
	if asked+reservedFiles > files {
		return 0, fmt.Errorf("--connections %d need %d open files, and the limit is %d: raise it with ulimit -n or LimitNOFILE=",
			asked, asked+reservedFiles, files)
	}
	if asked > 0 {
		return asked, nil
	}
	return min(files-reservedFiles, server.MaxConnections), nil
}

// openFilesLimit returns how many files this process may have open.
func openFilesLimit() (int, error) {
	var limit syscall.Rlimit
	err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit)
	return int(min(limit.Cur, 1<<30)), err
}
