package lab

import (
	"context"
	"crypto/rand"
	"time"
)

// How long a lock is kept: as in a real shop while nothing goes wrong, so that a
// machine that is merely busy takes nobody's lock away; and a moment in the
// disasters of the lab, which outlast it and are not to take all evening.
const (
	UsualLease = 10 * time.Second
	Lease      = 150 * time.Millisecond
)

// lockTries is how often a buyer tries to get the lock, and lockPause how long
// it waits in between: the articles spin, too.
const lockTries = 40

func lockPause() time.Duration { return 2 * time.Millisecond }

// lockedShop sells under a lock: read what is left, look, write one less, write
// the order down. Nobody can come between as long as the lock is what it seems.
// What makes a way is how it locks.
type lockedShop struct {
	redisShop
	mutex mutex
	tries int                  // how often a buyer asks for the lock
	pause func() time.Duration // how long it waits in between
}

// mutex is a way to lock. A try returns how to release it, or nil if somebody
// else has it.
type mutex interface {
	try(ctx context.Context) (release func(context.Context) error, err error)
}

// Buy locks, and sells.
func (s lockedShop) Buy(ctx context.Context, o Order) (answer Answer, err error) {
	answer = Contended
	err = s.locked(ctx, func() error {
		answer, err = s.sell(ctx, o)
		return err
	})
	return answer, err
}

// sell is the part that one seller at a time is in.
func (s lockedShop) sell(ctx context.Context, o Order) (Answer, error) {
	if has, err := s.has(ctx, o.User); err != nil || has {
		return Already, err
	}
	left, err := s.db.Get(ctx, keyStock).Int()
	if err != nil {
		return 0, err
	}
	if left <= 0 {
		return SoldOut, nil
	}
	s.work.do(ctx)
	if err := s.db.Set(ctx, keyStock, left-1, 0).Err(); err != nil {
		return 0, err
	}
	return Granted, s.record(ctx, o)
}

// locked does something under the lock, or nothing if it cannot be had.
func (s lockedShop) locked(ctx context.Context, do func() error) error {
	for try := range s.tries {
		if try > 0 && !Pause(ctx, s.pause()) {
			return ctx.Err()
		}
		release, err := s.mutex.try(ctx)
		if err != nil {
			return err
		}
		if release == nil {
			continue
		}
		if err := do(); err != nil {
			return err // the lock expires; a program that just died would not release it either
		}
		return release(ctx)
	}
	return nil
}

// Restock is a write like any other: under the lock, tried until it is had.
func (s lockedShop) Restock(ctx context.Context, units int) error {
	return s.operate(ctx, func() error { return s.redisShop.Restock(ctx, units) })
}

// Clear likewise.
func (s lockedShop) Clear(ctx context.Context) (left int, err error) {
	err = s.operate(ctx, func() error {
		left, err = s.redisShop.Clear(ctx)
		return err
	})
	return left, err
}

// operate waits for the lock as long as it takes: an operator does.
func (s lockedShop) operate(ctx context.Context, do func() error) error {
	for done := false; !done; {
		err := s.locked(ctx, func() error { done = true; return do() })
		if err != nil {
			return err
		}
	}
	return nil
}

// work is how long a seller takes for something.
type work time.Duration

func (w work) do(ctx context.Context) {
	if w > 0 {
		Pause(ctx, time.Duration(w))
	}
}

// Pause waits, and says whether it did to the end.
func Pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// keyLock is the lock.
const keyLock = "rushgate-lab:lock"

// newToken names one holder of a lock among all.
func newToken() string { return rand.Text() }
