package once_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"rushgate/once"
)

// counted is a store that counts its calls.
type counted struct {
	once.Store
	begins, renewals atomic.Int64
}

func (c *counted) Begin(ctx context.Context, claim once.Claim) (once.State, error) {
	c.begins.Add(1)
	return c.Store.Begin(ctx, claim)
}

func (c *counted) Renew(ctx context.Context, key, owner string, lease time.Duration) (bool, error) {
	c.renewals.Add(1)
	return c.Store.Renew(ctx, key, owner, lease)
}

func made(t *testing.T, c once.Config) *once.Once {
	t.Helper()
	o, err := once.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// TestWaitingIsQuiet: a thousand callers on two nodes wait for an hour, and the
// store hears of it a few times: of one caller for each node, and of that one
// because a message that somebody has ended may get lost.
func TestWaitingIsQuiet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &counted{Store: memory(t, once.MemoryConfig{})}
		here, there := made(t, once.Config{Store: s, Patience: 2 * time.Hour}), made(t, once.Config{Store: s, Patience: 2 * time.Hour})
		var all sync.WaitGroup
		var first atomic.Int64
		for i := range 1000 {
			all.Go(func() {
				r, err := []*once.Once{here, there}[i%2].Do(t.Context(), "k", func(context.Context, once.Attempt) ([]byte, error) {
					passes(time.Hour)
					return []byte("v"), nil
				})
				if err != nil || string(r.Value) != "v" {
					t.Error(r, err)
				}
				if !r.Replayed {
					first.Add(1)
				}
			})
		}
		all.Wait()
		if first.Load() != 1 || s.begins.Load() > 730 { // every 5 s
			t.Errorf("%d have done the work; the store was asked %d times", first.Load(), s.begins.Load())
		}
		if n := s.renewals.Load(); n < 359 || n > 361 { // every 10 s
			t.Errorf("the lease was renewed %d times", n)
		}
	})
}

// TestWhoWaitsIsTold at once, without asking again.
func TestWhoWaitsIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory(t, once.MemoryConfig{})
		here, there := made(t, once.Config{Store: s}), made(t, once.Config{Store: s})
		var all sync.WaitGroup
		begun := make(chan struct{})
		all.Go(func() {
			_, _ = here.Do(t.Context(), "k", func(context.Context, once.Attempt) ([]byte, error) {
				close(begun)
				passes(7 * time.Second)
				return nil, errors.New("broken")
			})
		})
		<-begun
		at := time.Now()
		r, err := there.Do(t.Context(), "k", func(context.Context, once.Attempt) ([]byte, error) { return nil, nil })
		if took := time.Since(at); err != nil || r.Number != 2 || took != 7*time.Second {
			t.Errorf("%+v, %v after %v", r, err, took)
		}
		all.Wait()
	})
}

// TestWaitersAreBounded: one more gets ErrFull; and each who leaves makes room.
func TestWaitersAreBounded(t *testing.T) {
	o := made(t, once.Config{Store: memory(t, once.MemoryConfig{}), Waiters: 2})
	for range 3 {
		_, err := o.Do(t.Context(), "a", func(ctx context.Context, _ once.Attempt) ([]byte, error) {
			_, err := o.Do(ctx, "b", func(ctx context.Context, _ once.Attempt) ([]byte, error) {
				_, err := o.Do(ctx, "c", nil)
				if !errors.Is(err, once.ErrFull) {
					t.Errorf("the third: %v", err)
				}
				return nil, errors.New("broken")
			})
			return nil, err
		})
		if err == nil || errors.Is(err, once.ErrFull) {
			t.Fatal(err)
		}
	}
}

// TestMemoryIsBounded: what is promised is not forgotten, so new keys are
// refused, until something has expired.
func TestMemoryIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memory(t, once.MemoryConfig{Records: 3, Members: 3, KeepMarks: time.Hour})
		o := made(t, once.Config{Store: m, Keep: time.Hour})
		do := func(key string) error {
			_, err := o.Do(t.Context(), key, func(context.Context, once.Attempt) ([]byte, error) { return nil, nil })
			return err
		}
		marks, _ := once.NewMarks(m)
		for i := range 3 {
			if err := do(fmt.Sprint(i)); err != nil {
				t.Fatal(err)
			}
			if _, err := marks.First(t.Context(), fmt.Sprint("set-", i), "m"); err != nil {
				t.Fatal(err)
			}
			passes(time.Minute)
		}
		if _, err := marks.First(t.Context(), "set", "m"); !errors.Is(err, once.ErrFull) || !errors.Is(do("more"), once.ErrFull) {
			t.Fatal(err)
		}
		passes(57 * time.Minute) // the first of each has expired now
		if err := do("more"); err != nil {
			t.Fatal(err)
		}
		if _, err := marks.First(t.Context(), "set", "m"); err != nil {
			t.Fatal(err)
		}
		if err := do("and more"); !errors.Is(err, once.ErrFull) {
			t.Fatal(err)
		}
	})
}

// TestLeaseOfWhoIsAlone: an attempt that cannot renew its lease, and was not
// overtaken, ends its context in time: before anybody could take over.
func TestLeaseOfWhoIsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := deaf{memory(t, once.MemoryConfig{})}
		o := made(t, once.Config{Store: s, Lease: 30 * time.Second})
		began := time.Now()
		_, err := o.Do(t.Context(), "k", func(ctx context.Context, _ once.Attempt) ([]byte, error) {
			<-ctx.Done()
			if took := time.Since(began); took > 30*time.Second || took < 20*time.Second {
				t.Errorf("the work is told after %v of a lease of 30 s", took)
			}
			return nil, context.Cause(ctx)
		})
		if !errors.Is(err, once.ErrLost) {
			t.Error(err)
		}
	})
}

// deaf is a store that never answers to a renewal.
type deaf struct{ once.Store }

func (deaf) Renew(ctx context.Context, _, _ string, _ time.Duration) (bool, error) {
	<-ctx.Done()
	return false, ctx.Err()
}

func TestConfig(t *testing.T) {
	m := memory(t, once.MemoryConfig{})
	for _, c := range []once.Config{{}, {Store: m, Lease: time.Millisecond}, {Store: m, Lease: 2 * time.Hour}, {Store: m, Keep: -1},
		{Store: m, MaxResult: -1}, {Store: m, MaxResult: math.MaxInt}, {Store: m, Patience: -1}, {Store: m, Waiters: -1},
		{Store: m, Timeout: -1}, {Store: m, Lease: time.Second, Timeout: time.Second}} {
		if _, err := once.New(c); err == nil || !strings.HasPrefix(err.Error(), "once: ") {
			t.Errorf("%+v: %v", c, err)
		}
	}
	for _, c := range []once.MemoryConfig{{Records: -1}, {Members: -1}, {KeepMarks: -1}, {Records: math.MaxInt}} {
		if _, err := once.NewMemory(c); err == nil {
			t.Errorf("%+v is taken", c)
		}
	}
}

// passes waits in the time of a bubble, where it takes none.
func passes(d time.Duration) { <-time.After(d) }

// slow is a store that takes its time for Begin.
type slow struct {
	once.Store
	asked, answer chan struct{}
}

func (s *slow) Begin(ctx context.Context, c once.Claim) (once.State, error) {
	s.asked <- struct{}{}
	<-s.answer
	return s.Store.Begin(ctx, c)
}

// TestNoWaitWhileAnotherOneAsks: the result is there. That another caller is being
// told so, in this process, is no reason to say that somebody is at it.
func TestNoWaitWhileAnotherOneAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memory(t, once.MemoryConfig{})
		if _, err := made(t, once.Config{Store: m}).Do(t.Context(), "k", func(context.Context, once.Attempt) ([]byte, error) { return []byte("v"), nil }); err != nil {
			t.Fatal(err)
		}
		s := &slow{Store: m, asked: make(chan struct{}, 9), answer: make(chan struct{})}
		o := made(t, once.Config{Store: s})
		var all sync.WaitGroup
		for range 2 {
			all.Go(func() {
				if r, err := o.Do(t.Context(), "k", nil, once.NoWait()); err != nil || string(r.Value) != "v" {
					t.Errorf("%+v, %v", r, err)
				}
			})
		}
		synctest.Wait()
		close(s.answer)
		all.Wait()
	})
}

// TestFailureOfWhoLostItsKey: that the key is lost does not hide why the work failed.
func TestFailureOfWhoLostItsKey(t *testing.T) {
	refused := errors.New("the card is refused")
	for name, failure := range map[string]error{"": refused, "for ever": once.Permanent(refused)} {
		o := made(t, once.Config{Store: memory(t, once.MemoryConfig{})})
		_, err := o.Do(t.Context(), "k", func(ctx context.Context, _ once.Attempt) ([]byte, error) {
			if _, err := o.Forget(ctx, "k"); err != nil {
				t.Error(err)
			}
			return nil, failure
		})
		if !errors.Is(err, once.ErrLost) || !errors.Is(err, refused) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
