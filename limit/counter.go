package limit

// The sliding counter: when this window of the calendar began, what was granted
// in it, and in the one before.

func (p *Policy) takeFromCounter(c *cell, now, n int64, m mode) (bool, Standing) {
	s := p.roll(c, now)
	granted := n == 0 || n <= p.limit-p.counted(s, now)
	if granted && m == take && n > 0 {
		s.B += n
		c.standing = s
	}
	return granted, s
}

// roll returns the standing in the window of now.
func (p *Policy) roll(c *cell, now int64) Standing {
	s, begin := c.standing, p.begin(now)
	switch {
	case s.B == 0 && s.C == 0, s.A < begin-p.width():
		return Standing{A: begin}
	case s.A == begin-p.width():
		return Standing{A: begin, C: s.B}
	case s.A > p.latest(now):
		// The clock went back: as for the other windows.
		s.A = p.latest(now)
		c.standing = s
	}
	return s
}

// counted returns what counts now: all of this window, and of the last one the
// share that a window that ends now covers, rounded up.
func (p *Policy) counted(s Standing, now int64) int64 {
	left := p.width() - max(0, now-s.A)
	return s.B + mulDivUp(s.C, left, p.width())
}

// giveToCounter gives back to the window in which the units were taken.
func (p *Policy) giveToCounter(c *cell, now, n int64, taken Receipt) {
	s := p.roll(c, now)
	switch s.A {
	case taken.A:
		s.B -= min(n, s.B)
	case taken.A + p.width():
		s.C -= min(n, s.C)
	default:
		return
	}
	c.standing = s
}

func (p *Policy) counterAnswer(now, n int64, s Standing) (remaining, retry, reset int64) {
	width := p.width()
	switch {
	case s.B > 0:
		reset = s.A + 2*width - now
	case s.C > 0:
		reset = s.A + width - now
	}
	var at int64 // when n will be granted
	if room := p.limit - n - s.B; room >= 0 {
		at = s.A + width - p.covered(room, s.C)
	} else {
		at = s.A + 2*width - p.covered(p.limit-n, s.B)
	}
	return p.limit - p.counted(s, now), at - now, reset
}

// covered returns the longest part of a window with so many units, of which no
// more than room count.
func (p *Policy) covered(room, units int64) int64 {
	if units <= room {
		return p.width()
	}
	part, _ := mulDiv(room, p.width(), units)
	return part
}
