package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"syscall"

	"rushgate"
	"rushgate/admission"
	"rushgate/internal/lifecycle"
	"rushgate/server"
)

// Program is a server that runs.
type Program struct {
	cfg     Config
	log     *slog.Logger
	group   *lifecycle.Group
	addr    net.Addr
	token   string
	metrics *server.Metrics
	handler *server.Server
}

// Open starts a server and returns when it answers: as one that sells, or as a
// standby. What goes wrong is one line that says how to mend it, and leaves
// nothing running. The caller calls Run or Close.
func Open(ctx context.Context, cfg Config, log *slog.Logger) (*Program, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	p := &Program{cfg: cfg, log: log, group: lifecycle.New(), metrics: server.NewMetrics()}
	if err := p.open(ctx); err != nil {
		stop, cancel := context.WithTimeout(context.Background(), cfg.ShutdownTimeout)
		defer cancel()
		return nil, errors.Join(err, p.group.Stop(stop))
	}
	return p, nil
}

// open starts the parts, each after those that it needs. What fails cheaply
// and leaves no trace comes first; whoever connects early waits until the
// first answer.
func (p *Program) open(ctx context.Context) error {
	identity, err := p.openIdentity(ctx)
	if err != nil {
		return err
	}
	listener, err := p.listen(ctx)
	if err != nil {
		return err
	}
	ledger, err := p.openLedger(ctx)
	if err != nil {
		return err
	}
	if err := p.findToken(); err != nil {
		return err
	}
	if ledger.leases == nil {
		err = p.sellAlone(ctx, ledger, identity)
	} else {
		err = p.sellInTurns(ctx, ledger, identity)
	}
	if err != nil {
		return err
	}
	return p.serve(listener)
}

// listen takes the address. The HTTP server closes the listener; until there
// is one, the group does.
func (p *Program) listen(ctx context.Context) (net.Listener, error) {
	l, err := listen(ctx, p.cfg.Listen)
	if err != nil {
		return nil, err
	}
	p.addr = l.Addr()
	return l, p.group.Start(lifecycle.Part{Name: "listener", Stop: func(context.Context) error {
		if err := l.Close(); !errors.Is(err, net.ErrClosed) {
			return err
		}
		return nil
	}})
}

func listen(ctx context.Context, address string) (net.Listener, error) {
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, explainListen(address, err)
	}
	return l, nil
}

func explainListen(address string, err error) error {
	var dns *net.DNSError
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("%s is in use by another program: end that one, or choose another address with --listen", address)
	case errors.Is(err, syscall.EACCES):
		return fmt.Errorf("this user may not listen on %s: choose a port above 1023 with --listen", address)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return fmt.Errorf("%s is not an address of this machine: choose another with --listen", address)
	case errors.As(err, &dns):
		return fmt.Errorf("--listen %s: the name cannot be resolved; give an IP address", address)
	}
	return fmt.Errorf("cannot listen on %s: %w", address, err)
}

func (p *Program) openLedger(ctx context.Context) (store, error) {
	ledger, err := openLedger(ctx, &p.cfg, p.log)
	if err != nil {
		return store{}, err
	}
	return ledger, p.group.Start(lifecycle.Part{Name: "ledger",
		Stop: func(context.Context) error { return ledger.Close() }})
}

// findToken takes the admin token from the configuration or the data folder.
// The log tells the file, never the token.
func (p *Program) findToken() error {
	if p.token = p.cfg.AdminToken; p.token != "" {
		return nil
	}
	token, made, err := keepAdminToken(p.cfg.Data)
	if err != nil {
		return err
	}
	p.token = token
	file := filepath.Join(p.cfg.Data, TokenFile)
	switch {
	case made && !p.cfg.alone():
		p.log.Warn("an admin token was made here, and all nodes need the same: give it to them with --admin-token, or copy the file", "file", file)
	case made:
		p.log.Info("an admin token was made", "file", file)
	}
	return nil
}

// openIdentity makes what knows the buyers. A key set must be there at start:
// later, the keys that are known go on while its source is away.
func (p *Program) openIdentity(ctx context.Context) (admission.Identity, error) {
	identity, keys, err := newIdentity(&p.cfg)
	if err != nil || keys == nil {
		return identity, err
	}
	if err := p.group.Start(lifecycle.Part{Name: "key set",
		Stop: func(context.Context) error { keys.Close(); return nil }}); err != nil {
		return nil, err
	}
	if err := keys.Refresh(ctx); err != nil {
		return nil, fmt.Errorf("--jwt-jwks %s: %w", place(p.cfg.JWTJWKS), err)
	}
	return identity, nil
}

// Addr returns the address that is served.
func (p *Program) Addr() net.Addr { return p.addr }

// URL returns the base URL, for a client on this machine.
func (p *Program) URL() string {
	host, port, err := net.SplitHostPort(p.addr.String())
	if err != nil {
		return "http://" + p.addr.String()
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(host, port)
}

// AdminToken returns the bearer token of the admin API.
func (p *Program) AdminToken() string { return p.token }

// Service returns the engine, for programs that embed the server; nil while
// this process stands by.
func (p *Program) Service() *rushgate.Service { return p.handler.Service() }

// Run serves until ctx ends, and then stops in good order: a node that sells
// beside others lets the balancer know and serves on for Config.Drain; then it takes
// no more connections, finishes what was accepted, and flushes. It returns an error
// when the program had to stop by itself, or could not stop in time.
func (p *Program) Run(ctx context.Context) error {
	cause := p.group.Wait(ctx)
	if cause != nil {
		p.log.Error("stopping, because a part has failed", "error", cause)
	} else {
		p.drain()
		p.log.Info("stopping: what was accepted is finished first")
	}
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), p.cfg.ShutdownTimeout)
	defer cancel()
	err := p.Close(stop)
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("not everything could be finished within --shutdown-timeout %s (nothing that was acknowledged is lost): %w",
			p.cfg.ShutdownTimeout, err)
	}
	return errors.Join(cause, err)
}

// Close stops the server. It may be called more than once.
func (p *Program) Close(ctx context.Context) error { return p.group.Stop(ctx) }
