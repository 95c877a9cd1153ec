package app

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"syscall"
	"time"

	"rushgate/admission"
	"rushgate/internal/lifecycle"
	"rushgate/server"
)

// The bounds of a connection. A stream of events sets its own.
const (
	readHeaderTimeout = 10 * time.Second
	readTimeout       = 30 * time.Second // head and body
	writeTimeout      = time.Minute      // from the end of the head: the desk may take half of it in the worst case
	idleTimeout       = 2 * time.Minute
	maxHeaderBytes    = 16 << 10
)

// serve starts the HTTP server on a listener.
func (p *Program) serve(l net.Listener, identity admission.Identity, metrics *server.Metrics) error {
	handler, err := server.New(server.Config{Service: p.service, Identity: identity, AdminToken: p.token, Log: p.log, Metrics: metrics})
	if err != nil {
		return err
	}
	p.server = handler
	h := &http.Server{Handler: handler,
		ReadHeaderTimeout: readHeaderTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout,
		IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeaderBytes,
		ErrorLog: slog.NewLogLogger(p.log.Handler(), slog.LevelDebug)} // strangers' broken connections
	bound := connections(p.cfg.Connections)
	p.log.Info("serving", "url", p.URL(), "data", p.cfg.Data, "identity", p.cfg.identity(), "connections", bound)
	return p.group.Start(lifecycle.Part{Name: "server",
		Run: func() error {
			if err := h.Serve(limitConnections(l, bound)); !errors.Is(err, http.ErrServerClosed) {
				return err
			}
			return nil
		},
		Stop: func(ctx context.Context) error { return p.stopServing(ctx, h) }})
}

// stopServing takes no more connections and finishes the requests that there
// are. Streams of events would never end by themselves: they are told to.
func (p *Program) stopServing(ctx context.Context, h *http.Server) error {
	p.server.SetReady("the server is stopping")
	streams := make(chan struct{})
	go func() {
		defer close(streams)
		p.server.Close()
	}()
	err := h.Shutdown(ctx)
	if err != nil {
		err = errors.Join(err, h.Close())
	}
	<-streams // they end with their connections, at the latest
	return err
}

// reservedFiles is what the program itself opens beside connections: the
// ledger's files, the listener, logs, profiles.
const reservedFiles = 128

// connections returns how many connections may be open: what was asked for, or
// as many as the limit of open files allows. (Go raises the soft limit to the
// hard one at start, see os/rlimit.go.)
func connections(asked int) int {
	if asked > 0 {
		return asked
	}
	if files, err := openFilesLimit(); err == nil {
		return max(min(files-reservedFiles, 1<<16), 64)
	}
	return 1024
}

// openFilesLimit returns how many files this process may have open.
func openFilesLimit() (int, error) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 0, err
	}
	return int(min(limit.Cur, 1<<30)), nil
}
