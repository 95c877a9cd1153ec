package server

import (
	"sync"
	"time"

	"rushgate"
)

// damper lets one line a second through for each code, and counts the others.
type damper struct {
	mu   sync.Mutex
	seen map[rushgate.Code]*damped
}

type damped struct {
	last       time.Time
	suppressed int
}

// ask says whether to log now, and how many lines were left out since the last one.
func (d *damper) ask(now time.Time, code rushgate.Code) (suppressed int, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.seen == nil {
		d.seen = map[rushgate.Code]*damped{}
	}
	c := d.seen[code]
	if c == nil {
		c = &damped{}
		d.seen[code] = c
	}
	if now.Sub(c.last) < time.Second {
		c.suppressed++
		return 0, false
	}
	suppressed, c.suppressed, c.last = c.suppressed, 0, now
	return suppressed, true
}
