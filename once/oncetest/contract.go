package oncetest

import (
	"testing"
	"time"

	"rushgate/once"
)

// attempt is one on a store, without anybody who renews it.
type attempt struct {
	key, owner string
	state      once.State
}

// begin takes a key and dies, as far as the store can see.
func begin(tb testing.TB, s once.Store, key string, lease time.Duration) attempt {
	tb.Helper()
	a := attempt{key: key, owner: once.NewOwner()}
	a.state = ask(tb, s, key, a.owner, lease)
	if a.state.Phase != once.Mine {
		tb.Fatalf("begin %s: %+v", key, a.state)
	}
	return a
}

func ask(tb testing.TB, s once.Store, key, owner string, lease time.Duration) once.State {
	tb.Helper()
	state, err := s.Begin(tb.Context(), once.Claim{Key: key, Owner: owner, Lease: lease})
	must(tb, err)
	return state
}

// overtake takes the key when the lease has ended.
func overtake(tb testing.TB, s once.Store, key string) attempt {
	tb.Helper()
	a := attempt{key: key, owner: once.NewOwner()}
	eventually(tb, "the lease ends", func() bool {
		a.state = ask(tb, s, key, a.owner, time.Minute)
		return a.state.Phase == once.Mine
	})
	return a
}

func (a attempt) end(tb testing.TB, s once.Store, phase once.Phase, value string, want bool) {
	tb.Helper()
	held, err := s.End(tb.Context(), a.key, a.owner, once.Outcome{Phase: phase, Value: []byte(value), Keep: once.Forever})
	if err != nil || held != want {
		tb.Fatalf("end as %v: %v, %v; want %v", phase, held, err, want)
	}
}

func (a attempt) renew(tb testing.TB, s once.Store, lease time.Duration, want bool) {
	tb.Helper()
	held, err := s.Renew(tb.Context(), a.key, a.owner, lease)
	if err != nil || held != want {
		tb.Fatalf("renew: %v, %v; want %v", held, err, want)
	}
}

func wantState(tb testing.TB, s once.Store, key string, phase once.Phase, value string, token int64) {
	tb.Helper()
	state, err := s.Look(tb.Context(), key)
	if err != nil || state.Phase != phase || string(state.Value) != value || token > 0 && state.Token != token {
		tb.Fatalf("look: %+v, %v; want %v %q of token %d", state, err, phase, value, token)
	}
}

// testContract holds a store against the words above once.Store.
func testContract(t *testing.T, f Factory) {
	stores := f.New(t, 2)
	s, other := stores[0], stores[1]
	for name, test := range map[string]func(t *testing.T, s, other once.Store){
		"an answer that got lost":                 answerLost,
		"who was overtaken":                       overtaken,
		"a lease that ended and nobody took":      leaseNobodyTook,
		"a lease keeps others away":               leaseKeepsAway,
		"an attempt whose key was forgotten":      forgottenAttempt,
		"an attempt that never began":             neverBegan,
		"a request that died is tied to its key":  diedTied,
		"an ended attempt tells those who wait":   tellsWhoWaits,
		"nothing is known of what nobody touched": untouched,
	} {
		t.Run(name, func(t *testing.T) { t.Parallel(); test(t, s, other) })
	}
}

func answerLost(t *testing.T, s, other once.Store) {
	a := begin(t, s, "lost", time.Minute)
	for _, store := range []once.Store{s, other} {
		if again := ask(t, store, "lost", a.owner, time.Minute); again.Phase != once.Mine || again.Token != a.state.Token || again.Number != 1 {
			t.Fatalf("begun again: %+v; the first answer was %+v", again, a.state)
		}
	}
	a.end(t, s, once.Done, "v", true)
	a.end(t, other, once.Done, "v", true)
	a.end(t, s, once.Free, "", false) // it is done
	a.renew(t, s, time.Minute, false)
	wantState(t, other, "lost", once.Done, "v", a.state.Token)
	b := begin(t, s, "freed", time.Minute)
	b.end(t, s, once.Free, "", true)
	b.end(t, other, once.Free, "", true)
	b.end(t, s, once.Done, "late", false)
	wantState(t, s, "freed", once.Free, "", b.state.Token)
}

func overtaken(t *testing.T, s, other once.Store) {
	a := begin(t, s, "overtaken", 20*time.Millisecond)
	b := overtake(t, other, "overtaken")
	if b.state.Token <= a.state.Token || b.state.Number != 2 {
		t.Fatalf("%+v after %+v", b.state, a.state)
	}
	a.renew(t, s, time.Minute, false)
	for _, phase := range []once.Phase{once.Done, once.Failed, once.Free} {
		a.end(t, s, phase, "of the dead", false)
	}
	wantState(t, s, "overtaken", once.Busy, "", b.state.Token)
	b.renew(t, other, time.Minute, true)
	b.end(t, other, once.Done, "of the living", true)
	a.end(t, s, once.Done, "of the dead", false)
	wantState(t, s, "overtaken", once.Done, "of the living", b.state.Token)
}

func leaseNobodyTook(t *testing.T, s, _ once.Store) {
	a := begin(t, s, "nobody", 10*time.Millisecond)
	ended := func() bool {
		state, err := s.Look(t.Context(), "nobody")
		must(t, err)
		return state.Phase == once.Free
	}
	eventually(t, "the lease ends", ended)
	a.renew(t, s, 10*time.Millisecond, true)
	eventually(t, "the lease ends", ended)
	a.end(t, s, once.Done, "v", true)
	wantState(t, s, "nobody", once.Done, "v", a.state.Token)
}

func leaseKeepsAway(t *testing.T, s, other once.Store) {
	a := begin(t, s, "kept", time.Minute)
	state := ask(t, other, "kept", once.NewOwner(), time.Minute)
	if state.Phase != once.Busy || state.Left <= 50*time.Second || state.Left > time.Minute || state.Token != a.state.Token {
		t.Fatalf("%+v", state)
	}
	a.renew(t, s, time.Hour, true)
	if state = ask(t, other, "kept", once.NewOwner(), time.Minute); state.Left <= 59*time.Minute || state.Left > time.Hour {
		t.Fatalf("after it was renewed: %+v", state)
	}
}

func forgottenAttempt(t *testing.T, s, other once.Store) {
	a := begin(t, s, "gone", time.Minute)
	if known, err := other.Forget(t.Context(), "gone"); err != nil || !known {
		t.Fatalf("forget: %v, %v", known, err)
	}
	a.renew(t, s, time.Minute, false)
	a.end(t, s, once.Done, "v", false)
	b := begin(t, other, "gone", time.Minute)
	if b.state.Token <= a.state.Token {
		t.Fatalf("token %d after %d", b.state.Token, a.state.Token)
	}
	a.end(t, s, once.Free, "", false)
	wantState(t, s, "gone", once.Busy, "", b.state.Token)
}

func neverBegan(t *testing.T, s, _ once.Store) {
	a := attempt{key: "never", owner: once.NewOwner()}
	a.renew(t, s, time.Minute, false)
	a.end(t, s, once.Done, "v", false)
	wantState(t, s, "never", once.Free, "", 0)
}

// diedTied: the request may have been carried out, so another one must not take
// over under its key.
func diedTied(t *testing.T, s, other once.Store) {
	const print, another = "0123456789abcdef0123456789abcdef", "fedcba9876543210fedcba9876543210"
	claim := func(store once.Store, print string) once.Phase {
		state, err := store.Begin(t.Context(), once.Claim{Key: "tied", Owner: once.NewOwner(), Lease: 10 * time.Millisecond, Fingerprint: print})
		must(t, err)
		return state.Phase
	}
	if p := claim(s, print); p != once.Mine {
		t.Fatal(p)
	}
	eventually(t, "the lease ends", func() bool {
		if p := claim(other, another); p != once.Reused {
			t.Fatal(p)
		}
		return claim(other, print) == once.Mine
	})
}

func tellsWhoWaits(t *testing.T, s, other once.Store) {
	for _, phase := range []once.Phase{once.Done, once.Failed, once.Free} {
		key := "told-" + phase.String()
		a := begin(t, s, key, time.Minute)
		ended, stop, err := other.Watch(t.Context(), key)
		must(t, err)
		defer stop()
		if ended == nil {
			return // it cannot tell
		}
		state, err := other.Begin(t.Context(), once.Claim{Key: key, Owner: once.NewOwner(), Lease: time.Minute, Waits: true})
		if err != nil || state.Phase != once.Busy {
			t.Fatalf("%+v, %v", state, err)
		}
		if held, err := s.Renew(t.Context(), key, a.owner, time.Minute); err != nil || !held { // which does not forget who waits
			t.Fatalf("renewed: %v, %v", held, err)
		}
		for drained := false; !drained; { // of what was told before
			select {
			case <-ended:
			default:
				drained = true
			}
		}
		a.end(t, s, phase, "", true)
		select {
		case <-ended:
		case <-time.After(30 * time.Second):
			t.Fatalf("the end as %v is not told", phase)
		}
	}
}

func untouched(t *testing.T, s, _ once.Store) {
	wantState(t, s, "untouched", once.Free, "", 0)
	if known, err := s.Forget(t.Context(), "untouched"); err != nil || known {
		t.Fatalf("forget: %v, %v", known, err)
	}
}
