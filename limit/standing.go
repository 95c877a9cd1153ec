package limit

// Standing is what the decisions about a key rest on, in three numbers. They
// are for those who write a store; everybody else reads a Result.
//
//	kind     A                        B                       C
//	GCRA     time at which the        its fraction            –
//	         bucket will be full, µs  of a microsecond, /a
//	fixed,   begin of the window, µs  units granted in it     –
//	aligned
//	counter  begin of the window, µs  units granted in it     and in the one before
//	log      units in the log         time of the newest, µs  when the refused units will
//	                                                          be free, µs; 0 if granted
type Standing struct{ A, B, C int64 }

// Answer makes the Result of a decision about n units that was taken at a time
// (microseconds since 1970) and left a key standing so. All stores answer
// through it, so that all say the same.
func (p Policy) Answer(granted bool, now, n int64, s Standing) (r Result) {
	p.answer(&r, granted, now, n, s)
	return r
}

func (p *Policy) answer(r *Result, granted bool, now, n int64, s Standing) {
	r.Granted, r.Limit = granted, p.limit
	var remaining, retry, reset int64
	switch p.kind {
	case KindGCRA:
		remaining, retry, reset = p.bucketAnswer(granted, now, n, s)
	case KindFixed, KindAligned:
		remaining, retry, reset = p.windowAnswer(now, s)
	case KindCounter:
		remaining, retry, reset = p.counterAnswer(now, n, s)
	case KindLog:
		remaining, retry, reset = p.logAnswer(now, s)
	}
	r.Remaining, r.Reset = max(remaining, 0), micros(max(reset, 0))
	if !granted {
		r.RetryAfter = micros(max(retry, 0))
	}
}

// Taken is an Answer with the receipt of what was taken.
func (p Policy) Taken(now, n int64, s Standing) Result {
	var r Result
	p.answer(&r, true, now, n, s)
	r.receipt = Receipt{Units: n, At: now, Standing: s}
	return r
}

// cell is what the memory store keeps of a key. The zero cell is a key that was
// never used.
type cell struct {
	standing Standing // of a log: nothing
	log      *grants  // of a log
}

// mode says what a decision does with the cell.
type mode bool

const (
	look mode = false // only looks, or mends what a clock that went back has left
	take mode = true  // takes, if granted
)

// decide is the decision: of the policy, the key's standing and the time alone.
func (p *Policy) decide(c *cell, now, n int64, m mode) (granted bool, after Standing) {
	switch p.kind {
	case KindGCRA:
		return p.takeFromBucket(c, now, n, m)
	case KindFixed, KindAligned:
		return p.takeFromWindow(c, now, n, m)
	case KindCounter:
		return p.takeFromCounter(c, now, n, m)
	}
	return p.takeFromLog(c, now, n, m)
}

// giveBack undoes n units of what was taken, as far as they still count. It
// returns how the key stands then.
func (p *Policy) giveBack(c *cell, now, n int64, taken Receipt) Standing {
	_, _ = p.decide(c, now, 0, look) // brings the cell up to date
	if n > 0 && taken.At <= now {    // otherwise the clock went back, and what it is worth is unknown
		switch p.kind {
		case KindGCRA:
			p.giveToBucket(c, now, n, taken)
		case KindFixed, KindAligned:
			p.giveToWindow(c, now, n, taken)
		case KindCounter:
			p.giveToCounter(c, now, n, taken)
		case KindLog:
			p.giveToLog(c, now, n, taken)
		}
	}
	_, after := p.decide(c, now, 0, look)
	return after
}

// idle says that a key may be forgotten: it stands as if it was never used.
func (p *Policy) idle(c *cell, now int64) bool {
	s := &c.standing
	switch p.kind {
	case KindGCRA:
		return !span{now, 0}.less(span{s.A, s.B})
	case KindFixed, KindAligned:
		return s.B == 0 || now >= s.A+p.width()
	case KindCounter:
		return now >= s.A+2*p.width()
	}
	return c.log == nil || c.log.last().at+p.width() <= now
}

// width is the window in microseconds.
func (p *Policy) width() int64 { return p.window.Microseconds() }
