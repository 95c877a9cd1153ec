package locktest

import (
	"time"

	"rushgate/lock"
)

// leases: each claim ends when its own lease does, whoever else asks for the key with
// a longer or a shorter one. It is read off what those are told who are refused, long
// before any lease ends.
func leases(t *table) {
	const long, short, shorter = lock.MaxLease, 40 * time.Minute, 20 * time.Minute
	reader := func(owner string, lease time.Duration) lock.Claim {
		c := claim("k", owner, t.names.next(), 1, all, 0)
		c.Lease = lease
		return c
	}
	t.acquire(lock.Granted, reader("a", long))
	t.first(long)
	again := reader("a", shorter) // it takes nothing from the other hold
	for range 2 {
		t.acquire(lock.Granted, again)
		t.first(long)
	}
	t.renew(lock.Granted, again)
	t.first(long)
	b := reader("b", shorter)
	t.acquire(lock.Granted, b)
	t.first(shorter)
	t.acquire(lock.Granted, reader("c", short))
	t.acquire(lock.Granted, reader("d", long))
	t.first(shorter)
	t.expire(b)
	t.first(short)
}

// first checks how long it is until the first lease ends. (A machine may stand still
// for some minutes meanwhile.)
func (t *table) first(want time.Duration) {
	t.Helper()
	try := t.mutex("z")
	try.Lease = time.Minute // it is nobody's
	t.soon(want, t.acquire(lock.Taken, try))
}

func (t *table) soon(want time.Duration, a lock.Answer) {
	t.Helper()
	if a.Left > want || a.Left < want-10*time.Minute {
		t.Fatalf("the first lease is said to end in %s, not %s", a.Left, want)
	}
}

// queuedLeases: who waits has a lease as well, which changes nothing for the holder.
func queuedLeases(t *table) {
	a, b := t.mutex("a"), t.waiter("b", all, all)
	b.Lease = 20 * time.Minute
	t.acquire(lock.Granted, a)
	t.soon(b.Lease, t.acquire(lock.Waiting, b))
	t.expire(b)
	t.first(a.Lease)
}

// everyToken: an owner that waits by several calls has each of them told.
func everyToken(t *table) {
	ears := listen(t, t.b, t.names.node)
	a := t.mutex("a")
	t.acquire(lock.Granted, a)
	first, second := t.waiter("b", all, all), t.waiter("b", all, all)
	t.acquire(lock.Waiting, first)
	t.acquire(lock.Waiting, second)
	t.release(lock.Granted, a)
	if one, other := ears.hears(t, first.Token), ears.hears(t, second.Token); one != other {
		t.Fatalf("one owner is told of fences %d and %d", one, other)
	}
	t.release(lock.Granted, first)
	t.acquire(lock.Taken, t.mutex("z"))
	t.release(lock.Granted, second)
}

// holds: an owner holds a key so many times, and not once more.
func holds(t *table) {
	var last lock.Claim
	for range lock.MaxHolds {
		last = t.mutex("a")
		t.acquire(lock.Granted, last)
	}
	t.acquire(lock.Full, t.mutex("a"))
	t.acquire(lock.Granted, last)
	t.release(lock.Granted, last)
	t.acquire(lock.Granted, t.mutex("a"))
	t.acquire(lock.Full, t.mutex("a"))
}

// wholeTokens: a token that begins as another one, or that another one begins as, is
// not the same.
func wholeTokens(t *table) {
	for _, ask := range []func(lock.Claim){
		func(c lock.Claim) { t.renew(lock.Gone, c) },
		func(c lock.Claim) { t.release(lock.Gone, c) },
	} {
		for _, end := range []string{"0", "000"} {
			a := t.mutex("a")
			other := a
			a.Token, other.Token = a.Token+"00", other.Token+end
			t.acquire(lock.Granted, a)
			ask(other)
			again := t.mutex("a")
			t.acquire(lock.Granted, again)
			ask(other)
			t.release(lock.Granted, again)
			t.release(lock.Granted, a)
		}
	}
}
