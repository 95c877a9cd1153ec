package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"rushgate"
	"rushgate/server"
)

// rota sells whenever this process may, and stands by in between: for a ledger
// on a server, where a lease says who may. What failed is tried again; the
// process goes on, unless the ledger is lost.
type rota struct {
	keeper *keeper
	server *server.Server
	log    *slog.Logger

	// enlist tries to get what this process needs to sell. Without it, the
	// tenure is nil and the reason says what it waits for.
	enlist func(context.Context) (t *tenure, reason string, err error)

	// equip makes what the service of a tenure is made of, and a function that
	// ends it after the service.
	equip func(context.Context, *tenure) (cfg rushgate.Config, end func() error, err error)

	first   *turn // from begin to run
	tenure  atomic.Pointer[tenure]
	closing sync.WaitGroup // turns that are over and not yet closed
}

// turn is one time that this process sells.
type turn struct {
	tenure  *tenure
	service *rushgate.Service
	end     func() error
}

// How often, while a lease lasts, a standby looks whether it is over; but at
// least so often, since a lease may be given back before its time.
const (
	tries    = 6
	maxPause = 500 * time.Millisecond
)

// begin tries for the first time, so that what is wrong with the configuration
// is told at the start.
func (r *rota) begin(ctx context.Context) error {
	t, err := r.try(ctx)
	r.first = t
	return err
}

// run sells and stands by in turns, until ctx ends or the ledger is lost.
func (r *rota) run(ctx context.Context) error {
	defer r.closing.Wait()
	t := r.first
	for {
		if t == nil {
			var err error
			if t, err = r.await(ctx); t == nil {
				return err
			}
		}
		why := r.watch(ctx, t)
		r.over(t, why)
		switch {
		case errors.Is(why, rushgate.ErrLost):
			return why
		case ctx.Err() != nil:
			return nil
		}
		t = nil
	}
}

// await stands by until this process may sell. Without a turn, ctx has ended, or
// the error says that the ledger is lost.
func (r *rota) await(ctx context.Context) (*turn, error) {
	pause := time.NewTicker(min(max(r.keeper.ttl/tries, time.Millisecond), maxPause))
	defer pause.Stop()
	told := ""
	for {
		select {
		case <-ctx.Done():
			return nil, nil
		case <-pause.C:
		}
		t, err := r.try(ctx)
		if t != nil || errors.Is(err, rushgate.ErrLost) {
			return t, err
		}
		if err != nil && ctx.Err() == nil {
			r.server.Detach(err.Error())
			if told != err.Error() {
				r.log.Error("this node cannot sell; trying again", "error", err)
			}
			told = err.Error()
		}
	}
}

// try takes a turn if it can be had.
func (r *rota) try(ctx context.Context) (*turn, error) {
	tenure, reason, err := r.enlist(ctx)
	if err != nil {
		return nil, err
	}
	if tenure == nil {
		r.server.Detach(reason)
		return nil, nil
	}
	t, err := r.open(ctx, tenure)
	if err != nil {
		tenure.end()
		return nil, err
	}
	r.tenure.Store(tenure)
	r.server.Attach(t.service)
	r.log.Info("this node sells", "lease", tenure.lease.Name, "term", tenure.lease.Term)
	return t, nil
}

// open opens the service of a tenure. If the tenure is lost meanwhile, it gives up.
func (r *rota) open(ctx context.Context, tenure *tenure) (*turn, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-tenure.lost:
			cancel()
		case <-ctx.Done():
		}
	}()
	cfg, end, err := r.equip(ctx, tenure)
	if err != nil {
		return nil, err
	}
	service, err := rushgate.Open(ctx, cfg)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the sales could not be taken over from the ledger: %w", err), end())
	}
	return &turn{tenure: tenure, service: service, end: end}, nil
}

// errStopping ends a turn in good order.
var errStopping = errors.New("the server is stopping")

// watch returns when a turn is over, and why.
func (r *rota) watch(ctx context.Context, t *turn) error {
	select {
	case <-ctx.Done():
		return errStopping
	case <-t.tenure.lost:
		return t.tenure.why
	case <-t.service.Failed():
		return t.service.Err()
	}
}

// over ends a turn: at once nobody is served any more, then what was accepted is
// finished, as far as the ledger takes it, and then the lease is given back. A
// ledger that does not answer keeps the turn from being closed; this does not
// wait for that longer than the lease would have lasted.
func (r *rota) over(t *turn, why error) {
	r.tenure.Store(nil)
	r.server.Detach(why.Error())
	if !errors.Is(why, errStopping) {
		r.log.Error("this node does not sell any more", "lease", t.tenure.lease.Name, "why", why)
		t.service.Fail(why) // what waits must not be granted under a number that others may have
	}
	closed := make(chan struct{})
	r.closing.Go(func() {
		defer close(closed)
		err := errors.Join(t.service.Close(context.Background()), t.end())
		if err != nil {
			r.log.Error("a turn could not be closed in good order", "error", err)
		}
		t.tenure.end()
	})
	patience := time.NewTimer(r.keeper.ttl)
	defer patience.Stop()
	select {
	case <-closed:
	case <-patience.C:
	}
}

// unready says why nothing should be sent here although the service is there:
// it may end in a moment.
func (r *rota) unready() string {
	if t := r.tenure.Load(); t != nil {
		if doubt := t.doubt.Load(); doubt != nil {
			return "the lease " + t.lease.Name + " could not be renewed: " + (*doubt).Error()
		}
	}
	return ""
}
