package lock

import (
	"context"
	"crypto/rand"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// Locker takes locks for one process and keeps them. It may be used by many
// goroutines; a process needs one for each backend. Close it.
//
// It has one goroutine that renews what is held, and a second one that hears
// what is granted, from the first wait on.
type Locker struct {
	backend Backend
	opts    Options
	node    string    // in all tokens
	began   time.Time // origin of this process's monotonic clock
	last    atomic.Uint64
	keeper  keeper

	ctx  context.Context // ends at Close
	stop context.CancelCauseFunc
	all  sync.WaitGroup

	mu      sync.Mutex
	hearing bool             // or about to
	deaf    error            // why it does not, at this moment
	waits   map[string]*wait // by token
}

// New returns a Locker on a backend, which it does not close.
func New(b Backend, opts Options) (*Locker, error) {
	if b == nil {
		return nil, invalid("a Locker needs a backend")
	}
	if err := opts.complete(); err != nil {
		return nil, err
	}
	l := &Locker{backend: b, opts: opts, node: rand.Text()[:16], began: time.Now(), waits: map[string]*wait{}}
	l.ctx, l.stop = context.WithCancelCause(context.Background())
	l.keeper.wake = make(chan struct{}, 1)
	l.all.Go(l.keep)
	return l, nil
}

// Close releases all that is held, ends the contexts with ErrClosed, and waits
// for its goroutines. Calls that still wait for a lock fail with ErrClosed. It
// takes no longer than a few times Options.Timeout; what could not be released
// then ends with its lease, which nobody renews any more.
func (l *Locker) Close() error {
	l.mu.Lock()
	l.stop(ErrClosed)
	l.mu.Unlock()
	l.all.Wait()
	return nil
}

// now is the process's own monotonic clock.
func (l *Locker) now() time.Duration { return time.Since(l.began) }

// Lock takes the key for itself alone, and waits for it if others have it, in
// the order in which all came. The wait is bounded by ctx, which also becomes
// the parent of the held context, and by Options.MaxWait. So a deadline in ctx is
// one for the work, too; WithMaxWait bounds the wait alone.
func (l *Locker) Lock(ctx context.Context, key string, opts ...Option) (*Held, error) {
	return l.take(ctx, key, MaxPermits, MaxPermits, true, opts)
}

// TryLock is Lock without waiting: ErrHeld if others have the key.
func (l *Locker) TryLock(ctx context.Context, key string, opts ...Option) (*Held, error) {
	return l.take(ctx, key, MaxPermits, MaxPermits, false, opts)
}

// RLock takes the key for reading: many readers may have it together, and none
// while somebody has it by Lock. A reader does not overtake a writer that
// waits, nor a writer a reader.
func (l *Locker) RLock(ctx context.Context, key string, opts ...Option) (*Held, error) {
	return l.take(ctx, key, 1, MaxPermits, true, opts)
}

// TryRLock is RLock without waiting: ErrHeld if a writer has the key or waits.
func (l *Locker) TryRLock(ctx context.Context, key string, opts ...Option) (*Held, error) {
	return l.take(ctx, key, 1, MaxPermits, false, opts)
}

// Acquire takes n of the key's permits, of which there are limit, a counting
// semaphore: together the holders never have more. All who use the key should
// name the same limit; each is held to the one that it named. Permits have
// leases as locks have, and are given back by Unlock. A large demand is not
// overtaken by small ones.
func (l *Locker) Acquire(ctx context.Context, key string, n, limit int, opts ...Option) (*Held, error) {
	return l.take(ctx, key, int64(n), int64(limit), true, opts)
}

// TryAcquire is Acquire without waiting: ErrHeld if there are not enough, or
// others wait.
func (l *Locker) TryAcquire(ctx context.Context, key string, n, limit int, opts ...Option) (*Held, error) {
	return l.take(ctx, key, int64(n), int64(limit), false, opts)
}

func (l *Locker) take(ctx context.Context, key string, need, limit int64, patient bool, opts []Option) (*Held, error) {
	w := wish{maxWait: l.opts.MaxWait}
	w.Claim = Claim{Key: key, Token: l.token(), Need: need, Limit: limit, Lease: l.opts.Lease}
	for _, o := range opts {
		o(&w)
	}
	if w.Owner == "" {
		w.Owner = anonymous + w.Token
	}
	if patient {
		w.Line = l.opts.MaxWaiters
	}
	if err := l.check(&w); err != nil {
		return nil, err
	}
	if !patient {
		return l.try(ctx, &w)
	}
	return l.lock(ctx, &w)
}

// token returns the name of a call: see Claim.
func (l *Locker) token() string {
	var b [32]byte
	name := append(append(b[:0], l.node...), '.')
	return string(strconv.AppendUint(name, l.last.Add(1), 36))
}

func (l *Locker) check(w *wish) error {
	switch {
	case w.err != nil:
		return w.err
	case !wellFormed(w.Key, MaxKey):
		return invalid("a key must be 1 to %d bytes of text without spaces and braces, not %q", MaxKey, w.Key)
	case w.Need < 1 || w.Limit < w.Need || w.Limit > MaxPermits:
		return invalid("%d permits of %d: there may be 1 to %d, and one may ask for 1 to all", w.Need, w.Limit, MaxPermits)
	case w.Lease <= 2*l.opts.Timeout:
		return invalid("a lease of %s is not more than twice the Timeout of %s", w.Lease, l.opts.Timeout)
	}
	return checkLease(w.Lease)
}
