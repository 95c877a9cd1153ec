package sqlite

import (
	"context"
	"sync"
)

// The bounds of the write-ahead log, in pages of 4 KiB.
const (
	keepEvery    = 16     // batches between two looks at the log
	keepFrom     = 8_000  // pages worth moving into the database
	keepRestart  = 24_000 // pages at which the log must start over (96 MiB)
	keepInsisted = 8_000  // pages that a log may grow before the next attempt
)

// keeper moves the write-ahead log into the database beside the writer.
//
// SQLite would do it inside the commit that fills the log, and everybody who
// waits for that commit would wait for thousands of random page writes and two
// more fsyncs. Beside the writer it costs nobody's time but the CPU's. A busy
// writer, though, never lets such a move catch up, so that the log would grow
// for ever: above a bound the keeper holds the writer back for the short rest,
// and the next batch starts the log over. docs/adr/0002-sqlite-batches.md has
// the figures.
type keeper struct {
	l      *Ledger
	look   chan struct{}
	cancel context.CancelFunc
	done   sync.WaitGroup

	commits  int   // guarded by Ledger.mu
	insisted int64 // pages of the log at the last attempt to start it over
}

// keep starts the keeper of a ledger.
func keep(l *Ledger) *keeper {
	ctx, cancel := context.WithCancel(context.Background())
	k := &keeper{l: l, look: make(chan struct{}, 1), cancel: cancel}
	k.done.Go(func() { k.run(ctx) })
	return k
}

// stop ends the keeper and waits for it. It is safe to call twice.
func (k *keeper) stop() {
	k.cancel()
	k.done.Wait()
}

// wrote tells the keeper that a batch was committed. Ledger.mu is held.
func (k *keeper) wrote() {
	if k.commits++; k.commits%keepEvery != 0 {
		return
	}
	select {
	case k.look <- struct{}{}:
	default: // it has not looked since the last time
	}
}

func (k *keeper) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-k.look:
		}
		if err := k.tend(ctx); err != nil && ctx.Err() == nil {
			k.l.opts.Log.Warn("the ledger's log could not be moved into its database", "error", err)
		}
	}
}

// tend moves the log when it is long enough, and starts it over when it is too long.
func (k *keeper) tend(ctx context.Context) error {
	pages, moved, err := k.checkpoint(ctx, "NOOP")
	if err != nil || pages-moved < keepFrom {
		return err
	}
	if pages, _, err = k.checkpoint(ctx, "PASSIVE"); err != nil {
		return err
	}
	if pages < k.insisted {
		k.insisted = 0 // it has started over since
	}
	if pages < keepRestart || pages < k.insisted+keepInsisted {
		return nil
	}
	k.insisted = pages
	// What was written during the long move is moved now, what is written
	// during this short one in the lock.
	if _, _, err := k.checkpoint(ctx, "PASSIVE"); err != nil {
		return err
	}
	k.l.mu.Lock()
	defer k.l.mu.Unlock()
	_, _, err = k.checkpoint(ctx, "PASSIVE")
	return err
}

// checkpoint returns how many pages the log has, and how many of them are in
// the database.
func (k *keeper) checkpoint(ctx context.Context, mode string) (pages, moved int64, err error) {
	k.l.reads.RLock()
	defer k.l.reads.RUnlock()
	if k.l.k == nil {
		return 0, 0, nil // a failed commit is being looked into
	}
	var busy int64
	err = k.l.k.QueryRowContext(ctx, `PRAGMA wal_checkpoint(`+mode+`)`).Scan(&busy, &pages, &moved)
	return pages, moved, err
}
