package lock

import (
	"context"
	"errors"
	"slices"
)

// HeldAll are several locks that were taken together.
type HeldAll struct {
	locks []*Held // in the order of their keys
	ctx   context.Context
}

// MaxKeys is how many keys one may lock together.
const MaxKeys = 100

// LockAll takes several keys, each as Lock does: all of them or, with an error,
// none. Each key is named once.
//
// They are taken one after the other, in the order of their names, whatever
// the order of the argument: so two who want the same keys never have one each
// and wait for the other. Who waits for a later key has the former ones
// already. This needs no step over several keys, and works on every backend,
// in a Redis Cluster too, where the keys may be on different servers.
func (l *Locker) LockAll(ctx context.Context, keys []string, opts ...Option) (*HeldAll, error) {
	return l.together(ctx, keys, opts, l.Lock)
}

// TryLockAll is LockAll without waiting: ErrHeld if others have one of the keys.
func (l *Locker) TryLockAll(ctx context.Context, keys []string, opts ...Option) (*HeldAll, error) {
	return l.together(ctx, keys, opts, l.TryLock)
}

type locking func(context.Context, string, ...Option) (*Held, error)

func (l *Locker) together(ctx context.Context, keys []string, opts []Option, lock locking) (*HeldAll, error) {
	keys = slices.Sorted(slices.Values(keys))
	if len(keys) < 1 || len(keys) > MaxKeys {
		return nil, invalid("%d keys: 1 to %d can be locked together", len(keys), MaxKeys)
	}
	if unique := slices.Compact(slices.Clone(keys)); len(unique) < len(keys) {
		return nil, invalid("a key is named twice in %q", keys)
	}
	all := &HeldAll{ctx: ctx}
	for _, key := range keys {
		// Each context is the child of the one before: the last one ends when
		// any of the locks does.
		h, err := lock(all.ctx, key, opts...)
		if err != nil {
			return nil, errors.Join(err, all.undo(ctx))
		}
		all.locks, all.ctx = append(all.locks, h), h.Context()
	}
	return all, nil
}

// undo gives back what was taken before it failed. That one of them was lost
// meanwhile, or is released a little later, is nothing to the caller.
func (a *HeldAll) undo(ctx context.Context) error {
	err := a.Unlock(context.WithoutCancel(ctx))
	if errors.Is(err, ErrLost) || errors.Is(err, ErrUnavailable) {
		return nil
	}
	return err
}

// Held returns the lock of one of the keys; nil if it is none of them.
func (a *HeldAll) Held(key string) *Held {
	for _, h := range a.locks {
		if h.Key() == key {
			return h
		}
	}
	return nil
}

// Context returns a context that ends when one of the locks does: see
// Held.Context.
func (a *HeldAll) Context() context.Context { return a.ctx }

// Valid says that all locks were held at the moment of the call.
func (a *HeldAll) Valid() bool {
	for _, h := range a.locks {
		if !h.Valid() {
			return false
		}
	}
	return true
}

// Unlock gives all of them back, each as Held.Unlock does, and returns all
// errors.
func (a *HeldAll) Unlock(ctx context.Context) error {
	var errs []error
	for _, h := range slices.Backward(a.locks) {
		errs = append(errs, h.Unlock(ctx))
	}
	return errors.Join(errs...)
}
