package limit

// The sliding log: every grant of the last window.

// grants is a log, oldest first. It is never empty between decisions.
type grants struct {
	entries []grant // from first on
	first   int
	units   int64 // of all entries
}

type grant struct{ at, units int64 }

func (g *grants) live() []grant { return g.entries[g.first:] }

// last returns the newest entry.
func (g *grants) last() *grant { return &g.entries[len(g.entries)-1] }

func (p *Policy) takeFromLog(c *cell, now, n int64, m mode) (bool, Standing) {
	g := c.log
	if g != nil && !g.update(now, p.width()) {
		g, c.log = nil, nil
	}
	var s Standing
	if g != nil {
		s.A, s.B = g.units, g.last().at
	}
	if n > 0 && n > p.limit-s.A {
		s.C = g.when(s.A+n-p.limit) + p.width()
		return false, s
	}
	if m == take && n > 0 {
		if g == nil {
			g = &grants{}
			c.log = g
		}
		g.add(now, n, p.grain.Microseconds())
		s.A, s.B = g.units, now
	}
	return true, s
}

// update drops what the window has left behind, and says whether something
// stays. Entries from the future are from before the clock went back: they
// cannot be later than now, and count from now.
func (g *grants) update(now, width int64) bool {
	for g.first < len(g.entries) && g.entries[g.first].at <= now-width {
		g.units -= g.entries[g.first].units
		g.first++
	}
	var future int64
	for len(g.live()) > 0 && g.last().at > now {
		future += g.last().units
		g.entries = g.entries[:len(g.entries)-1]
	}
	if future > 0 {
		g.entries = append(g.entries, grant{at: now, units: future})
	}
	return len(g.live()) > 0
}

// add writes a grant down, in the entry of its grain if there is one.
func (g *grants) add(now, n, grain int64) {
	g.units += n
	if len(g.live()) > 0 && g.last().at/grain == now/grain {
		g.last().at = now
		g.last().units += n
		return
	}
	if len(g.entries) == cap(g.entries) && g.first >= len(g.entries)/2 { // room in front is better than more
		g.entries = g.entries[:copy(g.entries, g.live())]
		g.first = 0
	}
	g.entries = append(g.entries, grant{at: now, units: n})
}

// when returns the time of the entry with which the oldest n units are gone.
func (g *grants) when(n int64) int64 {
	for _, e := range g.live() {
		if n -= e.units; n <= 0 {
			return e.at
		}
	}
	return 0
}

// giveToLog takes the oldest units out of the log, instead of those that were
// taken: there is room for as many at once, and none that counts leaves the
// window before its time.
func (p *Policy) giveToLog(c *cell, now, n int64, taken Receipt) {
	g := c.log
	if g == nil || taken.At <= now-p.width() {
		return
	}
	n = min(n, g.units)
	g.units -= n
	for n > 0 {
		e := &g.entries[g.first]
		part := min(n, e.units)
		n -= part
		if e.units -= part; e.units == 0 {
			g.first++
		}
	}
	if len(g.live()) == 0 {
		c.log = nil
	}
}

func (p *Policy) logAnswer(now int64, s Standing) (remaining, retry, reset int64) {
	if s.A > 0 {
		reset = s.B + p.width() - now
	}
	return p.limit - s.A, s.C - now, reset
}
