package app

import (
	"context"
	"fmt"
	"time"

	"rushgate"
	"rushgate/admission"
	"rushgate/internal/lifecycle"
)

// sellAlone starts the engine of a process that has its ledger for itself. When
// the engine can no longer tell what is true, the whole program stops.
func (p *Program) sellAlone(ctx context.Context, s store, identity admission.Identity) error {
	if err := p.newHandler(identity, nil); err != nil {
		return err
	}
	gate, err := openGate(ctx, &p.cfg, s.id, p.log, p.metrics)
	if err != nil {
		return err
	}
	if err := p.group.Start(lifecycle.Part{Name: "gate", Stop: func(context.Context) error { return gate.Close() }}); err != nil {
		return err
	}
	began := time.Now()
	service, err := rushgate.Open(ctx, p.engine(s.Ledger, gate))
	if err != nil {
		return fmt.Errorf("the sales could not be taken over from the ledger: %w", err)
	}
	p.handler.Attach(service)
	p.log.Debug("the gate was built from the ledger", "took", time.Since(began))
	stopping := make(chan struct{})
	return p.group.Start(lifecycle.Part{Name: "the engine",
		Run: func() error {
			select {
			case <-service.Failed():
				return service.Err()
			case <-stopping:
				return nil
			}
		},
		Stop: func(ctx context.Context) error {
			close(stopping)
			return service.Close(ctx)
		}})
}

// sellInTurns starts the engine of a process that shares its ledger: whenever it
// may sell, it does. What goes wrong at the first try is an error; later it is
// tried again.
func (p *Program) sellInTurns(ctx context.Context, s store, identity admission.Identity) error {
	var r *rota
	if err := p.newHandler(identity, func() string { return r.unready() }); err != nil {
		return err
	}
	r = p.openCluster(s)
	if err := r.begin(ctx); err != nil {
		return err
	}
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	return p.group.Start(lifecycle.Part{Name: "the engine",
		Run: func() error { return r.run(running) },
		Stop: func(context.Context) error {
			cancel()
			return nil // the group waits for Run
		}})
}
