package lab_test

import (
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"rushgate/internal/testenv"
	"rushgate/lab"
)

// The suite of all ways: one buyer is interrupted before each of the requests of
// the seller in turn, and something else happens there. A way that promises to
// bear it must bear it at every one of them; a way that does not must be seen
// breaking at one at least.

var (
	redisServers = [3]*testenv.Shared[*testenv.RedisServer]{testenv.SharedRedis(), testenv.SharedRedis(), testenv.SharedRedis()}
	postgres     = testenv.SharedPostgres()
	mariadb      = testenv.SharedMariaDB()
)

func TestMain(m *testing.M) {
	var tests testenv.Tests = m
	for _, r := range redisServers {
		tests = r.Around(tests)
	}
	goleak.VerifyTestMain(mariadb.Around(postgres.Around(tests)))
}

// Leases of the interruptions: one that never ends while the test runs, and one
// that is over soon.
const (
	lasting = time.Minute
	passing = lab.Lease
)

func TestTwoBuyersOneUnit(t *testing.T) {
	interrupt(t, lasting, func(w lab.Way) bool { return w.NeverOversells }, func(s *scene) {
		s.begin(1)
		s.interrupted(func() { s.other.buy("u2") })
		s.other.buy("u3")
	})
}

func TestPause(t *testing.T) {
	interrupt(t, passing, func(w lab.Way) bool { return w.SurvivesPause }, func(s *scene) {
		s.begin(1)
		s.interrupted(func() { s.other.buyUntil("u2", s.patience()) })
		s.other.buy("u3")
	})
}

func TestCrash(t *testing.T) {
	interrupt(t, passing, func(w lab.Way) bool { return w.SurvivesCrash }, func(s *scene) {
		s.begin(2)
		s.killed()
		s.other.buyUntil("u1", generous) // asks again
		s.other.buyUntil("u2", generous)
		s.other.buyUntil("u3", generous)
		s.exact = true
	})
}

func TestTwoClicks(t *testing.T) {
	interrupt(t, lasting, func(w lab.Way) bool { return w.OncePerUser }, func(s *scene) {
		s.begin(5)
		s.once = true
		s.interrupted(func() { s.other.order(lab.Order{ID: "u1-2", User: "u1"}) })
	})
}

func TestOperator(t *testing.T) {
	interrupt(t, lasting, func(w lab.Way) bool { return w.ObeysAdmin },
		func(s *scene) {
			s.begin(5)
			s.exact = true
			s.interrupted(func() { s.beside(func() { s.total -= s.other.clear() }) })
			if s.other.buy("u2") == lab.Granted {
				s.fault("sold a unit after the stock was cleared")
			}
		},
		func(s *scene) {
			s.begin(5)
			s.exact = true
			s.interrupted(func() { s.beside(func() { s.other.restock(3); s.total += 3 }) })
		})
}

// mostSteps bounds the requests that a seller makes for one buyer.
const mostSteps = 40

// interrupt plays scenes for every way that talks to servers, with the
// interruption before each request in turn.
func interrupt(t *testing.T, lease time.Duration, promised func(lab.Way) bool, plays ...func(*scene)) {
	byServer := map[lab.Need][]lab.Way{}
	for _, w := range lab.All() {
		if len(w.Needs) == 0 || w.Family == lab.Ours {
			continue // no network interrupts their sellers: see package trial
		}
		server := w.Needs[0]
		if server == lab.ThreeRedis {
			server = lab.Redis
		}
		byServer[server] = append(byServer[server], w)
	}
	for server, ways := range byServer { // one after the other on one server, side by side on several
		t.Run(string(server), func(t *testing.T) {
			t.Parallel()
			for _, w := range ways {
				t.Run(w.Name, func(t *testing.T) { hold(t, w, lease, promised(w), plays) })
			}
		})
	}
}

// rounds is how often a way may hide its fault: the requests of Redlock
// differ from time to time, so that an interruption can miss the place.
const rounds = 10

// hold sees that a way holds where it promises to, and that it breaks where not.
func hold(t *testing.T, w lab.Way, lease time.Duration, promised bool, plays []func(*scene)) {
	var faults []string
	for round := range rounds {
		for _, play := range plays {
			faults = append(faults, everywhere(t, w, lease, round, play)...)
		}
		if promised || len(faults) > 0 {
			break
		}
	}
	switch {
	case promised && len(faults) > 0:
		t.Errorf("it promises to hold, and:\n%s", strings.Join(faults, "\n"))
	case !promised && len(faults) == 0:
		t.Error("it is known to break, and nobody saw it: the lab is too weak")
	}
}

// everywhere plays one scene with the interruption before the first request, the
// second, and so on, until there are no more requests. It returns what went
// wrong.
func everywhere(t *testing.T, w lab.Way, lease time.Duration, round int, play func(*scene)) (faults []string) {
	t.Helper()
	for step, played := 0, 0; step < mostSteps && played < 3*mostSteps; played++ {
		s := newScene(t, w, lease, step, round)
		play(s)
		s.audit()
		s.close()
		faults = append(faults, s.faults...)
		if s.complete {
			return faults
		}
		if !s.vain {
			step++
		}
	}
	t.Fatalf("after %d requests a buyer has no answer yet", mostSteps)
	return nil
}
