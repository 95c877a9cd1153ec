// Package lifecycle starts the parts of a program in order, and stops them in
// the opposite one. When one part ends by itself, all stop.
//
// The idea is that of github.com/oklog/run, with an order: a server must stop
// before the service it calls, and the service before the database.
package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// Part is one thing that runs.
type Part struct {
	Name string // for errors

	// Run does the part's work in a goroutine of its own, and returns when
	// Stop was called, or with the reason why it ended by itself. It may be
	// nil for a part that is only stopped.
	Run func() error

	// Stop ends Run, and returns when what was begun is finished or ctx ends.
	// It is called once.
	Stop func(ctx context.Context) error
}

// Group is the parts that run together. Make it with New.
type Group struct {
	mu      sync.Mutex
	parts   []started
	stopped bool

	once  sync.Once
	err   error // of Stop
	ended chan struct{}
	cause error // why the first part ended by itself; then ended is closed
}

// New returns a group of no parts.
func New() *Group { return &Group{ended: make(chan struct{})} }

type started struct {
	Part
	done chan struct{} // Run has returned
}

// Start runs a part. The parts that it needs were started before. After Stop
// it refuses.
func (g *Group) Start(p Part) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.stopped {
		return fmt.Errorf("%s: the program is stopping", p.Name)
	}
	s := started{Part: p, done: make(chan struct{})}
	g.parts = append(g.parts, s)
	if p.Run == nil {
		close(s.done)
		return nil
	}
	go func() {
		defer close(s.done)
		err := p.Run()
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.stopped {
			return // as it should
		}
		if err == nil {
			err = errors.New("ended by itself")
		}
		if g.cause == nil {
			g.cause = fmt.Errorf("%s: %w", p.Name, err)
			close(g.ended)
		}
	}()
	return nil
}

// Ended is closed when a part has ended by itself.
func (g *Group) Ended() <-chan struct{} { return g.ended }

// Cause says why the first part ended by itself, or nil.
func (g *Group) Cause() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.cause
}

// Wait returns when ctx ends, with nil, or when a part has ended by itself,
// with the cause. It stops nothing.
func (g *Group) Wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-g.Ended():
		return g.Cause()
	}
}

// Stop stops all parts, the last one first, waits for each, and returns what
// went wrong. When ctx ends, the rest is still told to stop, with a context
// that has ended. It may be called again and from several goroutines: every
// call waits for the first and returns the same.
func (g *Group) Stop(ctx context.Context) error {
	g.once.Do(func() {
		g.mu.Lock()
		g.stopped = true
		parts := g.parts
		g.mu.Unlock()
		var errs []error
		for i := len(parts) - 1; i >= 0; i-- {
			if err := parts[i].stop(ctx); err != nil {
				errs = append(errs, fmt.Errorf("stop %s: %w", parts[i].Name, err))
			}
		}
		g.err = errors.Join(errs...)
	})
	return g.err
}

func (s *started) stop(ctx context.Context) error {
	if s.Stop != nil {
		if err := s.Stop(ctx); err != nil {
			return err
		}
	}
	select {
	case <-s.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
