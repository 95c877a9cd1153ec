package id

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// Node makes ids under a number that a store leases to it. Its methods may be
// called by several goroutines.
type Node struct {
	store   Store
	cfg     NodeConfig
	owner   string
	elapsed func() time.Duration // since the node was made; falls back only if a clock that was given does

	asking sync.Mutex // one question to the store at a time
	stop   context.CancelFunc
	kept   chan struct{} // closed when the keeper has ended
	ended  chan struct{} // closed when Close has ended
	endErr error         // of Close, when that has ended

	dice   *dice
	series series
	window atomic.Pointer[window]

	mu     sync.Mutex
	lease  Lease
	cause  error // why the last attempt to renew has failed
	closed bool
}

// window is a lease as Next needs it. It is never changed, only replaced; who
// still has an old one makes ids in it, with its number, or none.
type window struct {
	number      int
	base        time.Duration // from the epoch to elapsed() = 0, by the store's clock
	from, until int64         // in ms since the epoch
}

// NodeConfig is how a Node is made.
type NodeConfig struct {
	Layout Layout // must be given: see Standard

	// TTL is how far the window reaches beyond the last renewal: for so long
	// ids go on while the store is away, and so long the number of a node that
	// has crashed stays taken. MinTTL to MaxTTL; default 30 s. It is renewed three
	// times as often. All nodes should have the same.
	TTL time.Duration

	// Timeout is for one question to the store; 10 ms to TTL/3. Default: TTL/6,
	// but not more than 5 s.
	Timeout time.Duration

	// MaxSkew is by how much the clocks of node and store may differ, or else
	// there is no lease. 1 s to a year; default 1 minute.
	MaxSkew time.Duration

	// Last is the highest id that is known to be there; 0 if none. No id is
	// below. It is not needed for uniqueness.
	Last ID

	Log *slog.Logger // told when the lease cannot be renewed, and can again. Default: nobody

	// Now is the node's clock; default time.Now. It says how much time has passed
	// since the store gave its own, which is what ids carry, and is compared with
	// it: see MaxSkew.
	Now func() time.Time
}

func (c *NodeConfig) complete() error {
	if c.TTL == 0 {
		c.TTL = 30 * time.Second
	}
	if c.Timeout == 0 {
		c.Timeout = max(min(c.TTL/6, 5*time.Second), 10*time.Millisecond)
	}
	if c.MaxSkew == 0 {
		c.MaxSkew = time.Minute
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	switch {
	case c.Timeout < 10*time.Millisecond || c.Timeout > c.TTL/3:
		return fmt.Errorf("id: timeout %s: must be 10ms to a third of the lease (%s)", c.Timeout, c.TTL)
	case c.MaxSkew < time.Second || c.MaxSkew > 366*24*time.Hour:
		return fmt.Errorf("id: clocks may differ by %s: must be 1s to a year", c.MaxSkew)
	case c.Last < 0:
		return fmt.Errorf("id: last id %d: must not be negative", int64(c.Last))
	}
	return nil
}

// Join leases a number and keeps it until Close, which the caller must call. It
// asks once: that all numbers are taken (ErrNoNumber) or the store is away is an
// error. The caller keeps the store, and closes it after the node.
func Join(ctx context.Context, store Store, cfg NodeConfig) (*Node, error) {
	if store == nil {
		return nil, errors.New("id: a node needs a store")
	}
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	n := &Node{store: store, cfg: cfg, owner: rand.Text(), kept: make(chan struct{}), ended: make(chan struct{}), dice: newDice()}
	n.series.begin(cfg.Layout, cfg.Last)
	if cfg.Now == nil {
		n.cfg.Now = time.Now
		start := time.Now()
		n.elapsed = func() time.Duration { return time.Since(start) } // reads the monotonic clock alone
	} else {
		start := cfg.Now()
		n.elapsed = func() time.Duration { return cfg.Now().Sub(start) }
	}
	q := n.request()
	if err := q.Validate(); err != nil {
		return nil, err
	}
	if err := n.ask(ctx, func(ctx context.Context) (Lease, error) { return store.Acquire(ctx, n.request()) }); err != nil {
		return nil, err
	}
	keeping, stop := context.WithCancel(context.Background())
	n.stop = stop
	go n.keep(keeping)
	return n, nil
}

// Next returns a new id: larger than every one that this node has made, and
// different from those of all nodes that share the store. It never waits, and
// never asks the store. When the window does not reach to now, because the store
// has been away or the process has stood still for longer than a lease, or when
// so many ids have run ahead of the clock that the window is used up, the error is
// ErrNoLease, and wraps why it was not renewed; after Close it is ErrClosed.
func (n *Node) Next() (ID, error) { return n.next(n.window.Load()) }

// next begins with a window that somebody may have replaced since it was looked at.
func (n *Node) next(w *window) (ID, error) {
	elapsed, r := n.elapsed(), n.dice.uint64()
	for ; ; w = n.window.Load() {
		ms := max(int64(w.base+elapsed)/int64(time.Millisecond), w.from)
		last := n.series.last.Load()
		next, fresh := n.series.propose(last, ms, r)
		if last == ended || ms >= w.until || n.series.ms(next) >= w.until {
			if last == ended || w == n.window.Load() {
				return 0, n.refusal(max(ms, n.series.ms(next)))
			}
			continue // there is a new window
		}
		if n.series.take(last, next, fresh) {
			return n.series.id(next, w.number), nil
		}
	}
}

// refusal says why there is no id for a time.
func (n *Node) refusal(ms int64) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return fmt.Errorf("id: the node is %w", ErrClosed)
	}
	err := fmt.Errorf("id: %w: number %d was leased for ids until %s, and the next one is of %s", ErrNoLease, n.lease.Number,
		at(n.lease.UntilMs), at(ms+n.cfg.Layout.EpochMs))
	if ahead := n.Ahead(); ahead > 0 {
		err = fmt.Errorf("%w: ids have run %s ahead of the clock, as more were asked for than fit into their milliseconds", err, ahead.Round(time.Millisecond))
	}
	if n.cause != nil {
		err = fmt.Errorf("%w: %w", err, n.cause)
	}
	return err
}

// Lease returns what the node has now, or had last.
func (n *Node) Lease() Lease {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.lease
}

// Ahead returns by how much the last id is ahead of the clock by which ids are
// made: 0 unless there are more ids than fit into their milliseconds.
func (n *Node) Ahead() time.Duration {
	last := n.series.last.Load()
	if last == ended {
		return 0
	}
	return max(0, time.Duration(n.series.ms(last))*time.Millisecond-n.window.Load().base-n.elapsed())
}

// Err returns why the last attempt to renew the lease has failed; nil if it has
// not. Ids are made until the window ends all the same.
func (n *Node) Err() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.cause
}
