package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"rushgate"
	"rushgate/gate/memory"
	"rushgate/gate/redis"
	"rushgate/server"
)

// The kinds of gate: what --gate begins with.
const (
	gateMemory = "memory"
	gateRedis  = "redis"
	gateTLS    = "rediss"
)

// shared says that several nodes may use the gate at the same time.
func (c *Config) shared() bool { return c.Gate != gateMemory }

func (c *Config) validateGate() error {
	switch kindOf(c.Gate) {
	case gateMemory:
		if c.Gate == gateMemory {
			return nil
		}
		return errors.New("--gate memory takes no address")
	case gateRedis, gateTLS:
		return ofGate(redis.CheckURL(c.Gate))
	}
	return fmt.Errorf("--gate %q: must be memory, redis://host:port or rediss://host:port (TLS)", place(c.Gate))
}

// openGate opens the gate that the configuration names, for a ledger.
func openGate(ctx context.Context, c *Config, ledger string, log *slog.Logger, metrics *server.Metrics) (rushgate.Gate, error) {
	if !c.shared() {
		return memory.New(), nil
	}
	gate, err := redis.Open(ctx, c.Gate, redis.Options{Ledger: ledger, Log: log,
		Observe: func(i redis.Incident) { metrics.GateIncident(string(i.Kind), i.N) }})
	if err != nil {
		return nil, ofGate(err)
	}
	return gate, nil
}

// readGate opens the gate in Redis for looking. It is told no ledger, and so
// writes none beside the sales.
func readGate(ctx context.Context, c *Config) (rushgate.Shared, error) {
	gate, err := redis.Open(ctx, c.Gate, redis.Options{})
	if err != nil {
		return nil, ofGate(err)
	}
	return gate, nil
}

// reach asks a gate on a server for a trifle.
func reach(ctx context.Context, gate rushgate.Gate) error {
	if g, remote := gate.(*redis.Gate); remote {
		_, err := g.Owner(ctx)
		return ofGate(err)
	}
	return nil
}

// ofGate names the setting that an error is about.
func ofGate(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("--gate: %w", err)
}
