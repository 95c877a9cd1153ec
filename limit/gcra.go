package limit

// The bucket. Its one number is the time at which it will be full (the
// theoretical arrival time of ITU-T I.371, annex A): a take of n moves it by
// n/rate, from now on if it has passed, and is granted as long as it is not
// further away than the time in which an empty bucket fills.

// cost returns how long n units take to refill.
func (p *Policy) cost(n int64) span {
	if n == 1 { // nearly always
		return p.unit
	}
	q, r := mulDiv(n, p.b, p.a)
	return span{q, r}
}

// Cost returns how long n units take to refill, for stores that are written
// elsewhere: us + frac/denominator microseconds.
func (p Policy) Cost(n int64) (us, frac, denominator int64) {
	c := p.cost(n)
	return c.us, c.frac, p.a
}

func (p *Policy) takeFromBucket(c *cell, now, n int64, m mode) (bool, Standing) {
	at := span{now, 0}
	fullAt := span{c.standing.A, c.standing.B}
	empty := at.plus(p.full, p.a)
	switch {
	case fullAt.less(at):
		fullAt = at
	case empty.less(fullAt):
		// The clock went back, or the limit became smaller: no bucket is emptier
		// than empty. It is written down at once, or it would stay so until the
		// clock is again where it was.
		fullAt = empty
		c.standing = Standing{A: fullAt.us, B: fullAt.frac}
	}
	next := fullAt.plus(p.cost(n), p.a)
	granted := !empty.less(next)
	if granted && m == take && n > 0 {
		fullAt = next
		c.standing = Standing{A: fullAt.us, B: fullAt.frac}
	}
	return granted, Standing{A: fullAt.us, B: fullAt.frac}
}

// giveToBucket moves the time back by what the units are surely still worth:
// their own time, less what has passed since they were taken. Had they not been
// taken, the bucket could have been full in between, and have lost what flowed
// in; so it can never be emptier than what this leaves. (A take at t leaves the
// bucket full at t + its cost or later, whatever else was taken or given back.
// Without it, every later take would be granted as well, and the bucket be full
// earlier by at least what is left of the cost now.)
func (p *Policy) giveToBucket(c *cell, now, n int64, taken Receipt) {
	at, fullAt := span{now, 0}, span{c.standing.A, c.standing.B}
	worth := p.cost(n)
	if worth.us -= now - taken.At; worth.us < 0 || !at.less(fullAt) {
		return
	}
	fullAt = fullAt.minus(worth, p.a)
	c.standing = Standing{A: fullAt.us, B: fullAt.frac}
}

func (p *Policy) bucketAnswer(granted bool, now, n int64, s Standing) (remaining, retry, reset int64) {
	at, fullAt := span{now, 0}, span{s.A, s.B}
	missing := span{}
	if at.less(fullAt) {
		missing = fullAt.minus(at, p.a)
	}
	if have := p.full.minus(missing, p.a); have.us >= 0 {
		remaining = p.unitsIn(have)
	}
	if !granted {
		retry = missing.plus(p.cost(n), p.a).minus(p.full, p.a).ceil()
	}
	return remaining, retry, missing.ceil()
}

// unitsIn returns how many whole units refill in a time, which is at most full.
func (p *Policy) unitsIn(s span) int64 {
	q, r := mulDiv(s.us, p.a, p.b)
	// s.frac is a numerator over a, so it is worth frac/b of a unit.
	return q + (r+s.frac)/p.b
}
