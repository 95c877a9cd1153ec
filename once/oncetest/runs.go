package oncetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"rushgate/once"
)

func testRuns(t *testing.T, f Factory) {
	stores := f.New(t, 2)
	here, there := node(t, stores[0]), node(t, stores[1])
	for name, test := range map[string]func(*testing.T, *once.Once, *once.Once){
		"a result is everybody's":             resultIsEverybodys,
		"what bytes there are":                anyBytes,
		"a failure frees the key":             failureFrees,
		"a permanent failure is kept":         permanentIsKept,
		"a panic frees the key":               panicFrees,
		"no wait":                             noWait,
		"a key is tied to its request":        matching,
		"what is forgotten can be done again": forget,
		"a caller that leaves frees the key":  callerLeaves,
		"keys are told apart":                 keysApart,
	} {
		t.Run(name, func(t *testing.T) { t.Parallel(); test(t, here, there) })
	}
	t.Run("a result expires", func(t *testing.T) { t.Parallel(); resultExpires(t, stores[0]) })
	t.Run("too large", func(t *testing.T) { t.Parallel(); tooLarge(t, stores[0]) })
	t.Run("patience", func(t *testing.T) { t.Parallel(); patience(t, stores) })
}

func resultIsEverybodys(t *testing.T, here, there *once.Once) {
	ctx := t.Context()
	first, err := here.Do(ctx, "shared", returning("v"))
	wantValue(t, first, err, "v", false)
	if first.Number != 1 || first.Token <= 0 {
		t.Errorf("the first attempt is number %d, token %d", first.Number, first.Token)
	}
	for _, o := range []*once.Once{here, there} {
		r, err := o.Do(ctx, "shared", never(t), once.NoWait())
		wantValue(t, r, err, "v", true)
		if r.Token != first.Token || r.Number != first.Number {
			t.Errorf("replayed: %+v; made by %+v", r, first)
		}
		s, err := o.Look(ctx, "shared")
		if err != nil || s.Phase != once.Done || string(s.Value) != "v" || s.Token != first.Token {
			t.Errorf("look: %+v, %v", s, err)
		}
	}
}

func anyBytes(t *testing.T, here, there *once.Once) {
	for i, value := range []string{"", "\x00", "a\nb\n", "\xff\xfe", strings.Repeat("x\x00\n", 20_000)} {
		key := fmt.Sprintf("bytes-%d", i)
		_, err := here.Do(t.Context(), key, returning(value))
		must(t, err)
		r, err := there.Do(t.Context(), key, never(t))
		wantValue(t, r, err, value, true)
	}
}

func failureFrees(t *testing.T, here, there *once.Once) {
	broken := errors.New("broken")
	var last int64
	for n := 1; n <= 3; n++ {
		_, err := here.Do(t.Context(), "fails", func(_ context.Context, a once.Attempt) ([]byte, error) {
			if a.Number != n || a.Token <= last {
				t.Errorf("attempt %d has number %d and token %d after %d", n, a.Number, a.Token, last)
			}
			last = a.Token
			return []byte("lost"), broken
		})
		wantError(t, err, broken)
	}
	r, err := there.Do(t.Context(), "fails", returning("at last"))
	wantValue(t, r, err, "at last", false)
	if r.Number != 4 || r.Token <= last {
		t.Errorf("the fourth attempt has number %d and token %d after %d", r.Number, r.Token, last)
	}
}

func permanentIsKept(t *testing.T, here, there *once.Once) {
	broken := errors.New("the card is stolen")
	_, err := here.Do(t.Context(), "hopeless", func(context.Context, once.Attempt) ([]byte, error) {
		return nil, fmt.Errorf("pay: %w", once.Permanent(broken))
	})
	wantError(t, err, once.ErrFailed)
	wantError(t, err, broken)
	for range 2 {
		_, err = there.Do(t.Context(), "hopeless", never(t))
		wantError(t, err, once.ErrFailed)
		if !strings.Contains(err.Error(), broken.Error()) {
			t.Errorf("the text is %q", err)
		}
	}
}

func panicFrees(t *testing.T, here, there *once.Once) {
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic is gone")
			}
		}()
		_, _ = here.Do(t.Context(), "panics", func(context.Context, once.Attempt) ([]byte, error) { panic("broken") })
	}()
	r, err := there.Do(t.Context(), "panics", returning("v"), once.NoWait())
	wantValue(t, r, err, "v", false)
}

func noWait(t *testing.T, here, there *once.Once) {
	r, err := here.Do(t.Context(), "busy", func(ctx context.Context, _ once.Attempt) ([]byte, error) {
		for _, o := range []*once.Once{here, there} {
			_, err := o.Do(ctx, "busy", never(t), once.NoWait())
			wantError(t, err, once.ErrInProgress)
		}
		if s, err := there.Look(ctx, "busy"); err != nil || s.Phase != once.Busy || s.Left <= 0 || s.Left > 21*time.Second {
			t.Errorf("look: %+v, %v", s, err)
		}
		return []byte("v"), nil
	})
	wantValue(t, r, err, "v", false)
}

func matching(t *testing.T, here, there *once.Once) {
	ctx, one, two := t.Context(), once.Matching([]byte("one")), once.Matching([]byte("two"))
	broken := errors.New("broken")
	_, err := here.Do(ctx, "tied", func(ctx context.Context, _ once.Attempt) ([]byte, error) {
		for _, o := range []*once.Once{here, there} {
			_, err := o.Do(ctx, "tied", never(t), two)
			wantError(t, err, once.ErrReused)
		}
		return nil, broken
	}, one)
	wantError(t, err, broken)
	r, err := there.Do(ctx, "tied", returning("v"), two) // the failure freed it
	wantValue(t, r, err, "v", false)
	r, err = here.Do(ctx, "tied", never(t), two)
	wantValue(t, r, err, "v", true)
	for _, o := range []*once.Once{here, there} {
		_, err = o.Do(ctx, "tied", never(t), one)
		wantError(t, err, once.ErrReused)
		_, err = o.Do(ctx, "tied", never(t))
		wantError(t, err, once.ErrReused)
	}
}

func forget(t *testing.T, here, there *once.Once) {
	ctx := t.Context()
	first, err := here.Do(ctx, "forgotten", returning("v"))
	must(t, err)
	for _, want := range []bool{true, false} {
		if known, err := there.Forget(ctx, "forgotten"); err != nil || known != want {
			t.Fatalf("forget: %v, %v; want %v", known, err, want)
		}
	}
	r, err := here.Do(ctx, "forgotten", returning("w"))
	wantValue(t, r, err, "w", false)
	if r.Token <= first.Token {
		t.Errorf("token %d after %d: it must grow, also when nothing is remembered", r.Token, first.Token)
	}
}

func callerLeaves(t *testing.T, here, there *once.Once) {
	ctx, leave := context.WithCancel(t.Context())
	_, err := here.Do(ctx, "left", func(ctx context.Context, _ once.Attempt) ([]byte, error) {
		leave()
		<-ctx.Done()
		return nil, ctx.Err()
	})
	wantError(t, err, context.Canceled)
	r, err := there.Do(t.Context(), "left", returning("v"), once.NoWait())
	wantValue(t, r, err, "v", false)
}

func keysApart(t *testing.T, here, there *once.Once) {
	for i := range 20 {
		_, err := here.Do(t.Context(), anyName(i), returning(fmt.Sprint(i)))
		must(t, err)
	}
	for i := range 20 {
		r, err := there.Do(t.Context(), anyName(i), never(t))
		wantValue(t, r, err, fmt.Sprint(i), true)
	}
	for _, bad := range []string{"", strings.Repeat("x", once.MaxName+1), "a\x00b", "\xff"} {
		_, err := here.Do(t.Context(), bad, never(t))
		wantError(t, err, once.ErrName)
	}
}

func resultExpires(t *testing.T, s once.Store) {
	o := node(t, s, func(c *once.Config) { c.Keep = 30 * time.Millisecond })
	first, err := o.Do(t.Context(), "short", returning("v"))
	must(t, err)
	eventually(t, "the result expires", func() bool {
		r, err := o.Do(t.Context(), "short", returning("w"))
		must(t, err)
		if !r.Replayed && r.Token <= first.Token {
			t.Errorf("token %d after %d", r.Token, first.Token)
		}
		return !r.Replayed
	})
}

// tooLarge: the work was done, and its result cannot be kept. It is not done again.
func tooLarge(t *testing.T, s once.Store) {
	o := node(t, s, func(c *once.Config) { c.MaxResult = 3 })
	_, err := o.Do(t.Context(), "large", returning("four"))
	wantError(t, err, once.ErrTooLarge)
	wantError(t, err, once.ErrFailed)
	_, err = o.Do(t.Context(), "large", never(t))
	wantError(t, err, once.ErrFailed)
	r, err := o.Do(t.Context(), "just fits", returning("two"))
	wantValue(t, r, err, "two", false)
}

// patience: who waits in vain hears that somebody is at it, not that it was done.
func patience(t *testing.T, stores []Backend) {
	short := func(c *once.Config) { c.Patience = 50 * time.Millisecond }
	holder := node(t, stores[0], short)
	_, err := holder.Do(t.Context(), "long", func(ctx context.Context, _ once.Attempt) ([]byte, error) {
		for _, o := range []*once.Once{holder, node(t, stores[1], short)} {
			_, err := o.Do(ctx, "long", never(t))
			wantError(t, err, once.ErrInProgress)
		}
		return nil, nil
	})
	must(t, err)
}
