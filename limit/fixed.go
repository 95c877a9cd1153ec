package limit

// The fixed windows: when the window began, and what was granted in it.

// begin returns when a window begins in which the first take is now.
func (p *Policy) begin(now int64) int64 {
	if p.kind == KindFixed {
		return now
	}
	return now - now%p.width()
}

// latest returns the latest begin that a window can have without being locked
// for long: now; or, by the calendar, the window after this one. (When the clock
// goes back over the end of a window, what was granted in the window that is now
// to come goes on counting.)
func (p *Policy) latest(now int64) int64 {
	if p.kind == KindFixed {
		return now
	}
	return p.begin(now) + p.width()
}

func (p *Policy) takeFromWindow(c *cell, now, n int64, m mode) (bool, Standing) {
	s := c.standing
	if s.B == 0 || now >= s.A+p.width() {
		s = Standing{A: p.begin(now)}
	} else if last := p.latest(now); s.A > last {
		s.A = last // the clock went back; written down, or the window would never end
		c.standing = s
	}
	granted := n == 0 || n <= p.limit-s.B
	if granted && m == take && n > 0 {
		s.B += n
		c.standing = s
	}
	return granted, s
}

// giveToWindow gives back what was taken in the window that is still open.
func (p *Policy) giveToWindow(c *cell, now, n int64, taken Receipt) {
	if s := &c.standing; s.A == taken.A && now < s.A+p.width() {
		s.B -= min(n, s.B)
	}
}

func (p *Policy) windowAnswer(now int64, s Standing) (remaining, retry, reset int64) {
	over := s.A + p.width() - now
	if s.B > 0 {
		reset = over
	}
	return p.limit - s.B, over, reset
}
