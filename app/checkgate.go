package app

import "context"

// gate looks at a gate in Redis.
func (c *checkup) gate(ctx context.Context) {
	if !c.cfg.shared() {
		return
	}
}
