package oncetest

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"rushgate/once"
)

func testLeases(t *testing.T, f Factory) {
	stores := f.New(t, 2)
	t.Run("work that takes longer than its lease", func(t *testing.T) { t.Parallel(); longWork(t, stores) })
	t.Run("who waits takes over from the dead", func(t *testing.T) { t.Parallel(); takesOver(t, stores) })
	t.Run("work whose key was taken is told", func(t *testing.T) { t.Parallel(); workIsTold(t, stores) })
	t.Run("work whose store is away is told", func(t *testing.T) { t.Parallel(); storeAway(t, stores) })
	t.Run("a result that comes too late", func(t *testing.T) { t.Parallel(); tooLate(t, stores) })
	t.Run("answers that got lost", func(t *testing.T) { t.Parallel(); lostAnswers(t, stores) })
}

// renewals is a store that tells of each lease that it renews.
type renewals struct {
	once.Store
	renewed chan struct{}
}

func (r renewals) Renew(ctx context.Context, key, owner string, lease time.Duration) (bool, error) {
	held, err := r.Store.Renew(ctx, key, owner, lease)
	if held {
		r.renewed <- struct{}{}
	}
	return held, err
}

func longWork(t *testing.T, stores []Backend) {
	s := renewals{stores[0], make(chan struct{}, 100)}
	here := node(t, s, func(c *once.Config) { c.Lease, c.Timeout = 6*time.Second, 3*time.Second })
	r, err := here.Do(t.Context(), "long-work", func(ctx context.Context, _ once.Attempt) ([]byte, error) {
		for range 4 { // a third of a lease each
			select {
			case <-s.renewed:
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			case <-time.After(30 * time.Second):
				return nil, errors.New("the lease is not renewed")
			}
		}
		_, err := node(t, stores[1]).Do(ctx, "long-work", never(t), once.NoWait())
		wantError(t, err, once.ErrInProgress)
		return []byte("v"), nil
	})
	wantValue(t, r, err, "v", false)
}

func takesOver(t *testing.T, stores []Backend) {
	dead := begin(t, stores[0], "dead", 100*time.Millisecond)
	r, err := node(t, stores[1]).Do(t.Context(), "dead", returning("v"))
	wantValue(t, r, err, "v", false)
	if r.Number != 2 || r.Token <= dead.state.Token {
		t.Errorf("%+v after %+v", r, dead.state)
	}
}

// workIsTold: the key is taken away while the work runs, and somebody else has
// recorded another result: that one counts, for everybody.
func workIsTold(t *testing.T, stores []Backend) {
	here := node(t, stores[0], func(c *once.Config) { c.Lease, c.Timeout = 6*time.Second, 3*time.Second })
	there := node(t, stores[1])
	take := func(ctx context.Context, key string) {
		_, err := there.Forget(ctx, key)
		must(t, err)
	}
	_, err := here.Do(t.Context(), "taken", func(ctx context.Context, _ once.Attempt) ([]byte, error) {
		take(ctx, "taken")
		told(t, ctx)
		if context.Cause(ctx) != once.ErrLost {
			t.Errorf("the cause is %v", context.Cause(ctx))
		}
		return nil, ctx.Err()
	})
	wantError(t, err, once.ErrLost)
	r, err := here.Do(t.Context(), "taken-over", func(ctx context.Context, _ once.Attempt) ([]byte, error) {
		take(ctx, "taken-over")
		_, err := there.Do(ctx, "taken-over", returning("theirs"))
		must(t, err)
		told(t, ctx)
		return nil, ctx.Err()
	})
	wantValue(t, r, err, "theirs", true)
}

// told waits for the end of a context, within a bound that only a broken store
// reaches.
func told(t *testing.T, ctx context.Context) {
	t.Helper()
	select {
	case <-ctx.Done():
	case <-time.After(30 * time.Second):
		t.Error("the work is not told")
	}
}

// away is a store that can be away, before or after it has done what is asked.
type away struct {
	once.Store
	renewals, answers atomic.Int64 // so many are lost from now on
}

var errAway = errors.New("the store is away")

func (a *away) Renew(ctx context.Context, key, owner string, lease time.Duration) (bool, error) {
	if a.renewals.Add(-1) >= 0 {
		return false, errAway
	}
	return a.Store.Renew(ctx, key, owner, lease)
}

func (a *away) Begin(ctx context.Context, c once.Claim) (once.State, error) {
	s, err := a.Store.Begin(ctx, c)
	if a.answers.Add(-1) >= 0 {
		return once.State{}, errAway
	}
	return s, err
}

func (a *away) End(ctx context.Context, key, owner string, o once.Outcome) (bool, error) {
	held, err := a.Store.End(ctx, key, owner, o)
	if a.answers.Add(-1) >= 0 {
		return false, errAway
	}
	return held, err
}

func storeAway(t *testing.T, stores []Backend) {
	s := &away{Store: stores[0]}
	s.renewals.Store(1 << 30)
	here := node(t, s, func(c *once.Config) { c.Lease, c.Timeout = 4*time.Second, 2*time.Second })
	_, err := here.Do(t.Context(), "away", func(ctx context.Context, _ once.Attempt) ([]byte, error) {
		told(t, ctx)
		return nil, context.Cause(ctx)
	})
	wantError(t, err, once.ErrLost)
}

// tooLate: the work does not look at its context, and returns after another
// attempt has taken over and not ended yet.
func tooLate(t *testing.T, stores []Backend) {
	here := node(t, stores[0])
	_, err := here.Do(t.Context(), "late", func(ctx context.Context, _ once.Attempt) ([]byte, error) {
		_, err := stores[1].Forget(ctx, "late")
		must(t, err)
		begin(t, stores[1], "late", time.Minute)
		return []byte("late"), nil
	})
	wantError(t, err, once.ErrLost)
	wantState(t, stores[1], "late", once.Busy, "", 0)
}

// lostAnswers: what was done counts, although its answer was lost; and nobody
// waits for himself.
func lostAnswers(t *testing.T, stores []Backend) {
	s := &away{Store: stores[0]}
	here := node(t, s)
	s.answers.Store(2)
	r, err := here.Do(t.Context(), "unheard", func(_ context.Context, a once.Attempt) ([]byte, error) {
		if a.Number != 1 {
			t.Errorf("attempt %d", a.Number)
		}
		s.answers.Store(2)
		return []byte("v"), nil
	}, once.NoWait())
	wantValue(t, r, err, "v", false)

	s.answers.Store(5) // begin gives up, and gives back what it may have got
	_, err = here.Do(t.Context(), "given back", never(t))
	wantError(t, err, errAway)
	r, err = node(t, stores[1]).Do(t.Context(), "given back", returning("v"), once.NoWait())
	wantValue(t, r, err, "v", false)
}
