package rushgate

import (
	"log/slog"
	"sync"
)

// complaints are what a node tries again and again in vain. Each is told when it
// begins, when its reason becomes another, and when it is over: an hour without the
// ledger is a few lines, and not one for every try.
type complaints struct {
	log *slog.Logger

	mu   sync.Mutex
	told map[complaint]string // with the error that was told last
}

// complaint is what does not work, of one sale or of all ("").
type complaint struct{ what, sale string }

func newComplaints(log *slog.Logger) *complaints {
	return &complaints{log: log, told: map[complaint]string{}}
}

// about takes in how another try has ended.
func (c *complaints) about(what, sale string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := complaint{what, sale}
	last, told := c.told[key]
	log := c.log
	if sale != "" {
		log = log.With("sale", sale)
	}
	switch {
	case err == nil && told:
		delete(c.told, key)
		log.Info("it is over that " + what)
	case err != nil && last != err.Error():
		c.told[key] = err.Error()
		log.Error(what+"; trying again", "error", err)
	}
}

// What a node may complain about.
const (
	notMended  = "the gate could not be mended"
	notAdopted = "orphaned claims could not be adopted"
	notHome    = "units between shards could not be brought home"
	notKept    = "acknowledged claims wait for the ledger"
	notRead    = "the ledger cannot be read"
)
