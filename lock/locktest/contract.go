package locktest

import (
	"testing"

	"rushgate/lock"
)

const all = lock.MaxPermits

// table is a backend with short words for what is asked of it.
type table struct {
	testing.TB
	f     Factory
	b     lock.Backend
	raw   lock.Backend // for those who look behind it
	names tokens
}

func newTable(t *testing.T, f Factory) *table {
	raw := f.New(t)
	return &table{TB: t, f: f, b: f.inStep(raw), raw: raw, names: tokens{node: nodeOf(t)}}
}

func (t *table) acquire(want lock.State, c lock.Claim) lock.Answer {
	t.Helper()
	a := t.b.Acquire(t.Context(), c)
	t.check("acquire", want, a, c)
	return a
}

func (t *table) renew(want lock.State, c lock.Claim) lock.Answer {
	t.Helper()
	a := t.b.Renew(t.Context(), []lock.Claim{c})[0]
	t.check("renew", want, a, c)
	return a
}

func (t *table) release(want lock.State, c lock.Claim) {
	t.Helper()
	t.check("release", want, t.b.Release(t.Context(), []lock.Claim{c})[0], c)
}

func (t *table) check(what string, want lock.State, a lock.Answer, c lock.Claim) {
	t.Helper()
	if a.Err != nil || a.State != want {
		t.Fatalf("%s %+v: %s, %v; want %s", what, c, a.State, a.Err, want)
	}
	if want == lock.Granted && what != "release" && a.Fence == 0 {
		t.Fatalf("%s %+v: granted without a fence", what, c)
	}
}

func (t *table) expire(c lock.Claim) { t.f.Expire(t, t.raw, c.Key, c.Owner) }

// mutex is a claim for all permits that does not wait.
func (t *table) mutex(owner string) lock.Claim { return claim("k", owner, t.names.next(), all, all, 0) }

func contract(t *testing.T, f Factory) {
	for _, c := range []struct {
		name string
		test func(*table)
		line bool // it needs one
	}{
		{"ACallCanBeAskedAgain", askedAgain, false},
		{"TheLateCannotTouchOthers", late, false},
		{"FencesGrow", fences, false},
		{"ATokenIsAllOfIt", wholeTokens, false},
		{"AnOwnerHoldsAgain", reentrant, false},
		{"PermitsAreCounted", permits, false},
		{"ManyAtOnce", batch, false},
		{"LeasesAreTheirOwn", leases, false},
		{"HoldsAreBounded", holds, false},
		{"TheLineIsServedInOrder", order, true},
		{"LeasesInTheLineAreTheirOwn", queuedLeases, true},
		{"EveryCallIsTold", everyToken, true},
		{"WritersAreNotOvertaken", writers, true},
		{"TheDeadLoseTheirPlace", deadPlace, true},
		{"TheLineIsBounded", fullLine, true},
		{"ATryLeavesNothing", tryLeavesNothing, true},
	} {
		if c.line && f.Quorum {
			continue
		}
		t.Run(c.name, func(t *testing.T) { c.test(newTable(t, f)) })
	}
}

func askedAgain(t *table) {
	a := t.mutex("a")
	first := t.acquire(lock.Granted, a)
	if again := t.acquire(lock.Granted, a); again.Fence != first.Fence && !t.f.Quorum {
		t.Fatalf("asked again, the fence is %d, not %d", again.Fence, first.Fence)
	}
	a.Fence = first.Fence
	if kept := t.renew(lock.Granted, a); kept.Fence != first.Fence {
		t.Fatalf("renewed, the fence is %d, not %d", kept.Fence, first.Fence)
	}
	t.acquire(lock.Taken, t.mutex("b"))
	t.release(lock.Granted, a)
	t.release(lock.Gone, a)
	t.acquire(lock.Granted, t.mutex("b"))
}

func late(t *table) {
	a := t.mutex("a")
	t.acquire(lock.Granted, a)
	t.expire(a)
	b := t.mutex("b")
	fence := t.acquire(lock.Granted, b).Fence
	t.renew(lock.Gone, a)
	t.release(lock.Gone, a)
	t.acquire(lock.Taken, t.mutex("a"))
	stranger := b
	stranger.Token = t.names.next()
	t.release(lock.Gone, stranger)
	t.renew(lock.Gone, stranger)
	b.Fence = fence
	if got := t.renew(lock.Granted, b).Fence; got != fence {
		t.Fatalf("the holder's fence became %d, was %d", got, fence)
	}
	// Nobody came, and it is over all the same.
	t.expire(b)
	t.renew(lock.Gone, b)
	t.expireFree(t.mutex("c"))
}

func (t *table) expireFree(c lock.Claim) {
	t.Helper()
	t.acquire(lock.Granted, c)
	t.expire(c)
	t.release(lock.Gone, c)
}

func fences(t *table) {
	var last uint64
	for range 5 {
		a := t.mutex("a")
		fence := t.acquire(lock.Granted, a).Fence
		if fence <= last {
			t.Fatalf("a fence of %d after %d", fence, last)
		}
		last = fence + 1_000_000
		a.Fence = last
		if raised := t.renew(lock.Granted, a).Fence; raised != last {
			t.Fatalf("raised to %d, it is %d", last, raised)
		}
		t.release(lock.Granted, a)
	}
}

func reentrant(t *table) {
	a := t.mutex("a")
	fence := t.acquire(lock.Granted, a).Fence
	again := t.mutex("a")
	if got := t.acquire(lock.Granted, again).Fence; got < fence || got > fence && !t.f.Quorum {
		t.Fatalf("held once more with fence %d, not %d", got, fence)
	}
	reader := claim("k", "a", t.names.next(), 1, all, 0)
	t.acquire(lock.Granted, reader)
	t.release(lock.Granted, a)
	t.release(lock.Gone, a)
	t.release(lock.Granted, reader)
	t.acquire(lock.Taken, t.mutex("b"))
	t.release(lock.Granted, again)
	reader.Token = t.names.next()
	t.acquire(lock.Granted, reader)
	t.acquire(lock.Denied, t.mutex("a"))
	t.release(lock.Granted, reader)
	t.acquire(lock.Granted, t.mutex("b"))
}

func permits(t *table) {
	of := func(owner string, need, limit int64) lock.Claim {
		return claim("k", owner, t.names.next(), need, limit, 0)
	}
	a, b := of("a", 2, 3), of("b", 1, 3)
	t.acquire(lock.Granted, a)
	t.acquire(lock.Taken, of("c", 2, 3))
	t.acquire(lock.Granted, b)
	t.acquire(lock.Taken, of("c", 1, 3))
	t.acquire(lock.Granted, of("c", 1, 4))
	t.acquire(lock.Taken, t.mutex("d"))
	t.release(lock.Granted, b)
	t.acquire(lock.Taken, of("d", 1, 3))
	t.expire(a)
	t.acquire(lock.Granted, of("d", 2, 3))
}

func batch(t *table) {
	var claims []lock.Claim
	for _, key := range []string{"k1", "k2", "k3", "k4"} {
		c := claim(key, "a", t.names.next(), all, all, 0)
		if key != "k3" {
			t.acquire(lock.Granted, c)
		}
		claims = append(claims, c)
	}
	want := []lock.State{lock.Granted, lock.Granted, lock.Gone, lock.Granted}
	for i, a := range t.b.Renew(t.Context(), claims) {
		t.check("renew", want[i], a, claims[i])
	}
	for i, a := range t.b.Release(t.Context(), claims) {
		t.check("release", want[i], a, claims[i])
	}
	if n := len(t.b.Renew(t.Context(), nil)) + len(t.b.Release(t.Context(), nil)); n != 0 {
		t.Fatalf("%d answers to nothing", n)
	}
}

func (t *table) waiter(owner string, need, limit int64) lock.Claim {
	return claim("k", owner, t.names.next(), need, limit, 10)
}

func order(t *table) {
	ears := listen(t, t.b, t.names.node)
	a := t.mutex("a")
	fence := t.acquire(lock.Granted, a).Fence
	var line []lock.Claim
	for i, owner := range []string{"b", "c", "d"} {
		c := t.waiter(owner, all, all)
		if got := t.acquire(lock.Waiting, c); got.Ahead != i || got.Left <= 0 {
			t.Fatalf("%+v for number %d in the line", got, i)
		}
		line = append(line, c)
	}
	if again := t.acquire(lock.Waiting, line[1]); again.Ahead != 1 {
		t.Fatalf("asked again, there are %d ahead", again.Ahead)
	}
	t.release(lock.Waiting, line[1])
	t.release(lock.Granted, a)
	for _, c := range []lock.Claim{line[0], line[2]} {
		told := ears.hears(t, c.Token)
		if told <= fence {
			t.Fatalf("a fence of %d after %d", told, fence)
		}
		fence = told
		if got := t.acquire(lock.Granted, c).Fence; got != told {
			t.Fatalf("was told fence %d, and holds %d", told, got)
		}
		t.acquire(lock.Taken, t.mutex("z"))
		t.release(lock.Granted, c)
	}
	t.acquire(lock.Granted, t.mutex("z"))
}

func writers(t *table) {
	ears := listen(t, t.b, t.names.node)
	r1, r2 := t.waiter("r1", 1, all), t.waiter("r2", 1, all)
	t.acquire(lock.Granted, r1)
	t.acquire(lock.Granted, r2)
	w := t.waiter("w", all, all)
	t.acquire(lock.Waiting, w)
	r3, r4 := t.waiter("r3", 1, all), t.waiter("r4", 1, all)
	t.acquire(lock.Waiting, r3)
	t.acquire(lock.Waiting, r4)
	t.acquire(lock.Taken, claim("k", "r5", t.names.next(), 1, all, 0))
	t.release(lock.Granted, r1)
	t.renew(lock.Waiting, w)
	t.release(lock.Granted, r2)
	ears.hears(t, w.Token)
	t.renew(lock.Waiting, r3)
	t.release(lock.Granted, w)
	ears.hears(t, r3.Token)
	ears.hears(t, r4.Token)
}

func deadPlace(t *table) {
	ears := listen(t, t.b, t.names.node)
	a, b, c := t.waiter("a", all, all), t.waiter("b", all, all), t.waiter("c", all, all)
	t.acquire(lock.Granted, a)
	t.acquire(lock.Waiting, b)
	t.acquire(lock.Waiting, c)
	t.expire(b)
	t.expire(a)
	// Whoever looks finds the dead; the one who waits is told.
	t.acquire(lock.Taken, t.mutex("z"))
	ears.hears(t, c.Token)
	t.renew(lock.Gone, b)
	t.release(lock.Gone, a)
	t.release(lock.Granted, c)
}

func fullLine(t *table) {
	t.acquire(lock.Granted, t.mutex("a"))
	for _, owner := range []string{"b", "c"} {
		c := t.waiter(owner, all, all)
		c.Line = 2
		t.acquire(lock.Waiting, c)
	}
	c := t.waiter("d", all, all)
	c.Line = 2
	t.acquire(lock.Full, c)
	c.Token, c.Line = t.names.next(), 3
	t.acquire(lock.Waiting, c)
}

func tryLeavesNothing(t *table) {
	a := t.mutex("a")
	t.acquire(lock.Granted, a)
	b := t.waiter("b", all, all)
	t.acquire(lock.Waiting, b)
	try := t.mutex("b")
	t.acquire(lock.Taken, try)
	t.release(lock.Gone, try)
	t.release(lock.Waiting, b)
	t.release(lock.Granted, a)
	t.acquire(lock.Granted, t.mutex("c"))
}
