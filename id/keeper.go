package id

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// The keeper renews the lease while the node lives. Nothing depends on its being
// in time but that there are ids: see the package comment.

// keep renews until it is told to stop, and more often when that fails.
func (n *Node) keep(ctx context.Context) {
	defer close(n.kept)
	pause, failing := n.cfg.TTL/3, false
	for {
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
		err := n.Renew(ctx)
		if ctx.Err() != nil {
			return
		}
		switch pause = n.cfg.TTL / 3; {
		case err != nil:
			pause = n.cfg.TTL / 12
			if !failing {
				n.cfg.Log.Warn("the lease of the number for ids is not renewed", "number", n.Lease().Number, "until", at(n.Lease().UntilMs), "error", err)
			}
		case failing:
			n.cfg.Log.Info("the lease of a number for ids is renewed again", "number", n.Lease().Number)
		}
		failing = err != nil
	}
}

// Renew asks the store for a longer window now; a node does so by itself three
// times in a TTL. If the number is lost, because somebody else has got it after a
// long pause or because the store has forgotten, the node takes another one. On
// an error everything stays as it was.
func (n *Node) Renew(ctx context.Context) error {
	return n.ask(ctx, func(ctx context.Context) (Lease, error) {
		l, err := n.store.Renew(ctx, n.Lease().Number, n.request())
		if errors.Is(err, ErrLost) {
			l, err = n.store.Acquire(ctx, n.request())
		}
		return l, err
	})
}

func (n *Node) request() Request {
	return Request{Owner: n.owner, Layout: n.cfg.Layout, TTL: n.cfg.TTL,
		ClockMs: n.cfg.Now().UnixMilli(), SkewMs: n.cfg.MaxSkew.Milliseconds()}
}

// ask puts one question to the store and takes over its answer.
func (n *Node) ask(ctx context.Context, question func(context.Context) (Lease, error)) error {
	n.asking.Lock()
	defer n.asking.Unlock()
	if n.isClosed() {
		return fmt.Errorf("id: the node is %w", ErrClosed)
	}
	ctx, cancel := context.WithTimeout(ctx, n.cfg.Timeout)
	defer cancel()
	asked := n.elapsed()
	l, err := question(ctx)
	if err == nil {
		err = n.credible(l)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	heard := n.elapsed()
	if err == nil && heard-asked > 2*n.cfg.Timeout {
		err = fmt.Errorf("id: the answer of the store was read %s after the question: the time in it is too old", heard-asked)
	}
	n.cause = err
	if err == nil {
		n.adopt(l, heard)
	}
	return err
}

// credible refuses windows that do not fit into the bits of an id.
func (n *Node) credible(l Lease) error {
	epoch := n.cfg.Layout.EpochMs
	if l.FromMs <= epoch || l.UntilMs-epoch >= 1<<timeBits || l.UntilMs <= l.FromMs || l.Number < 0 || l.Number >= n.cfg.Layout.Nodes() {
		return fmt.Errorf("id: number %d from %s until %s: %w, or the store is out of order: that is outside of the ids with epoch %s",
			l.Number, at(l.FromMs), at(l.UntilMs), ErrClock, at(epoch))
	}
	return nil
}

// adopt takes a lease over. The store has looked at its clock before now, so that
// ours, which goes on from there, is never ahead of it by more than the clocks'
// rates differ; it is behind by the way of the answer.
func (n *Node) adopt(l Lease, heard time.Duration) {
	epoch := n.cfg.Layout.EpochMs
	n.lease = l
	n.window.Store(&window{number: l.Number, base: time.Duration(l.NowMs-epoch)*time.Millisecond - heard,
		from: l.FromMs - epoch, until: l.UntilMs - epoch})
}

func (n *Node) isClosed() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.closed
}

// Close ends the node and gives its number back, so that another one may have it
// at once. An error says that the store did not hear of it: then the number stays
// taken until the lease is over. It may be called again, also meanwhile: it is over
// when the first call is, and says the same.
func (n *Node) Close() error {
	n.mu.Lock()
	if n.closed {
		n.mu.Unlock()
		<-n.ended
		return n.endErr
	}
	n.closed = true
	last := n.series.last.Swap(ended) // from here on nobody takes a number
	n.mu.Unlock()
	n.stop()
	<-n.kept
	n.endErr = n.giveBack(n.series.ms(last) + 1 + n.cfg.Layout.EpochMs)
	close(n.ended)
	return n.endErr
}

// giveBack releases what the node has, of which it has used some.
func (n *Node) giveBack(usedMs int64) error {
	n.asking.Lock() // a Renew that somebody called may still be under way
	defer n.asking.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), n.cfg.Timeout)
	defer cancel()
	if err := n.store.Release(ctx, n.Lease().Number, n.owner, usedMs); err != nil {
		return fmt.Errorf("id: number %d stays taken until %s: %w", n.Lease().Number, at(n.Lease().UntilMs), err)
	}
	return nil
}
