package app

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"rushgate"
)

// oneLease is a ledger with one lease, whose answers a test decides.
type oneLease struct {
	mu     sync.Mutex
	answer func(ctx context.Context, want rushgate.Lease) (rushgate.Lease, bool, error)
	asked  int
	freed  int
}

func (l *oneLease) Acquire(ctx context.Context, want rushgate.Lease, ttl time.Duration) (rushgate.Lease, bool, error) {
	l.mu.Lock()
	l.asked++
	answer := l.answer
	l.mu.Unlock()
	return answer(ctx, want)
}

func (l *oneLease) Release(context.Context, rushgate.Lease) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.freed++
	return nil
}

func (l *oneLease) Held(context.Context, string) ([]rushgate.Lease, error) { return nil, nil }
func (l *oneLease) Under(rushgate.Lease) rushgate.Ledger                   { return nil }

func (l *oneLease) say(answer func(context.Context, rushgate.Lease) (rushgate.Lease, bool, error)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.answer = answer
}

func granted(_ context.Context, want rushgate.Lease) (rushgate.Lease, bool, error) {
	want.Term, want.Left = 7, time.Second
	return want, true, nil
}

var errAway = errors.New("the database is away")

func refused(context.Context, rushgate.Lease) (rushgate.Lease, bool, error) {
	return rushgate.Lease{}, false, errAway
}

// hold takes a lease of 3 seconds, in a world where time stands still unless
// everybody waits.
func hold(t *testing.T, l *oneLease) *tenure {
	t.Helper()
	l.say(granted)
	k := &keeper{leases: l, ttl: 3 * time.Second, holder: "me", log: slog.New(slog.DiscardHandler)}
	h, _, err := k.take(t.Context(), "x")
	if err != nil || h == nil {
		t.Fatal(h, err)
	}
	t.Cleanup(h.end)
	return h
}

func (t *tenure) isLost() bool {
	select {
	case <-t.lost:
		return true
	default:
		return false
	}
}

func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func TestATenureLastsWhileItIsRenewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &oneLease{}
		h := hold(t, l)
		pass(time.Hour)
		if h.isLost() {
			t.Errorf("lost: %v", h.why)
		}
		if l.asked != 3601 { // every second, and the first time
			t.Errorf("asked %d times", l.asked)
		}
	})
}

// A database that does not answer, by an error or not at all, costs the lease
// after the time that it lasts since the last good answer, and not before.
func TestATenureEndsByTheHoldersOwnClock(t *testing.T) {
	for name, answer := range map[string]func(context.Context, rushgate.Lease) (rushgate.Lease, bool, error){
		"error": refused,
		"silent": func(ctx context.Context, _ rushgate.Lease) (rushgate.Lease, bool, error) {
			<-ctx.Done()
			return rushgate.Lease{}, false, ctx.Err()
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &oneLease{}
				h := hold(t, l)
				pass(1500 * time.Millisecond) // renewed at 1 s
				l.say(answer)
				pass(2499 * time.Millisecond)
				if h.isLost() {
					t.Fatalf("lost before its time: %v", h.why)
				}
				if doubt := h.doubt.Load(); doubt == nil {
					t.Error("nobody doubts it")
				}
				pass(time.Millisecond)
				if !h.isLost() || !strings.Contains(h.why.Error(), `"x" could not be renewed for 3s`) {
					t.Errorf("%v", h.why)
				}
			})
		})
	}
}

// A lease that was long in coming is renewed before it is over.
func TestALeaseThatCameLateIsRenewedInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &oneLease{}
		l.say(func(ctx context.Context, want rushgate.Lease) (rushgate.Lease, bool, error) {
			<-time.After(2900 * time.Millisecond)
			l.say(granted)
			return granted(ctx, want)
		})
		k := &keeper{leases: l, ttl: 3 * time.Second, log: slog.New(slog.DiscardHandler)}
		h, _, err := k.take(t.Context(), "x")
		if err != nil {
			t.Fatal(err)
		}
		defer h.end()
		pass(time.Minute)
		if h.isLost() {
			t.Errorf("lost: %v", h.why)
		}
	})
}

// Even a driver that forgets its context keeps nobody in office.
func TestATenureEndsThoughTheDriverHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, free := &oneLease{}, make(chan struct{})
		h := hold(t, l)
		l.say(func(context.Context, rushgate.Lease) (rushgate.Lease, bool, error) {
			<-free
			return rushgate.Lease{}, false, errAway
		})
		pass(3 * time.Second)
		if !h.isLost() {
			t.Error("it lasts")
		}
		close(free)
	})
}

// An answer that comes too late does not bring it back.
func TestALateAnswerDoesNotBringATenureBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &oneLease{}
		h := hold(t, l)
		l.say(func(ctx context.Context, want rushgate.Lease) (rushgate.Lease, bool, error) {
			<-time.After(4 * time.Second)
			return granted(ctx, want)
		})
		pass(time.Minute)
		if !h.isLost() || l.asked > 3 {
			t.Errorf("lost %v, asked %d times", h.isLost(), l.asked)
		}
	})
}

func TestATenureSurvivesWhatPasses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &oneLease{}
		h := hold(t, l)
		for range 100 {
			l.say(refused)
			pass(1500 * time.Millisecond)
			l.say(granted)
			pass(1500 * time.Millisecond)
		}
		if h.isLost() || h.doubt.Load() != nil {
			t.Errorf("lost %v, in doubt %v", h.isLost(), h.doubt.Load())
		}
	})
}

// Whoever hears that the lease has changed hands, or was over meanwhile, has
// lost it at once.
func TestATenureThatSomebodyElseHasIsLostAtOnce(t *testing.T) {
	for name, answer := range map[string]func(context.Context, rushgate.Lease) (rushgate.Lease, bool, error){
		"another holder": func(context.Context, rushgate.Lease) (rushgate.Lease, bool, error) {
			return rushgate.Lease{Note: note{Name: "two"}.String(), Term: 8}, false, nil
		},
		"another term": func(ctx context.Context, want rushgate.Lease) (rushgate.Lease, bool, error) {
			got, held, err := granted(ctx, want)
			got.Term++
			return got, held, err
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &oneLease{}
				h := hold(t, l)
				l.say(answer)
				pass(time.Second)
				if !h.isLost() {
					t.Error("it lasts")
				}
			})
		})
	}
}

// Who ends a tenure in the middle of a renewal has nothing to complain of.
func TestAnEndInTheMiddleOfARenewalIsQuiet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, log := &oneLease{}, &strings.Builder{}
		l.say(granted)
		k := &keeper{leases: l, ttl: 3 * time.Second, log: slog.New(slog.NewTextHandler(log, nil))}
		h, _, err := k.take(t.Context(), "x")
		if err != nil {
			t.Fatal(err)
		}
		l.say(func(ctx context.Context, _ rushgate.Lease) (rushgate.Lease, bool, error) {
			<-ctx.Done()
			return rushgate.Lease{}, false, ctx.Err()
		})
		pass(1100 * time.Millisecond)
		h.end()
		if log.Len() > 0 || h.isLost() {
			t.Errorf("lost %v; it says %s", h.isLost(), log)
		}
	})
}

// Who ends a tenure gives the lease back, once the last renewal is through.
func TestAnEndedTenureIsGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &oneLease{}
		h := hold(t, l)
		h.end()
		asked := l.asked
		pass(time.Minute)
		if l.freed != 1 || l.asked != asked || h.isLost() {
			t.Errorf("given back %d times, asked %d times afterwards, lost %v", l.freed, l.asked-asked, h.isLost())
		}
	})
}
