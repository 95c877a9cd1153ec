package redis

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"rushgate"
)

// Options are what a gate is opened with. The zero value of every field means
// its default.
type Options struct {
	// Prefix begins every key that the gate writes. Clusters that share a
	// Redis have different ones. Default "rg:". The URL's prefix comes first.
	Prefix string

	// Ledger names the ledger that this gate serves. It is written beside the
	// sales, so that two clusters cannot take each other's keys for their own.
	// Empty writes and checks nothing.
	Ledger string

	// Journal is how many claims one shard may have granted and nobody
	// recorded yet. When so many wait, the answer is Overloaded. Default 65,536.
	Journal int

	// Timeout bounds one exchange with Redis; default 1 s. Patience bounds all
	// attempts of one call together; default 3 s.
	Timeout  time.Duration
	Patience time.Duration

	// Replicas is how many replicas must have a grant of a sale whose level is
	// Replicated before it counts as acknowledged; default 1. The URL's number
	// comes first. ReplicaTimeout bounds the wait for them; default 500 ms.
	Replicas       int
	ReplicaTimeout time.Duration

	// LoadLease is how long a sale stays closed when the node that loads it
	// dies in the middle; default 10 s.
	LoadLease time.Duration

	// Poll is how often the gate looks at the sales that it knows, beside
	// hearing of changes; default 500 ms.
	Poll time.Duration

	// Known bounds how many users and keys of one sale the gate remembers to
	// refuse others without asking Redis; default 4,000,000, at about 40 bytes
	// each. A sale that has more is refused by Redis.
	Known int

	// Observe, if set, hears of everything that deserves a counter.
	Observe func(Incident)

	// Log hears of what an operator should know. Default: nobody.
	Log *slog.Logger
}

// Bounds of the options.
const (
	maxJournal  = 1 << 22
	maxReplicas = 16
	maxTime     = time.Minute
	maxPrefix   = 64 // bytes
	maxLedger   = 200
)

// complete fills in the defaults and says what is wrong.
func (o *Options) complete() error {
	if o.Prefix == "" {
		o.Prefix = "rg:"
	}
	if o.Journal == 0 {
		o.Journal = 65_536
	}
	if o.Replicas == 0 {
		o.Replicas = 1
	}
	if o.Known == 0 {
		o.Known = 4_000_000
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Observe == nil {
		o.Observe = func(Incident) {}
	}
	var errs []error
	for _, d := range []struct {
		name   string
		value  *time.Duration
		preset time.Duration
	}{
		{"Timeout", &o.Timeout, time.Second},
		{"Patience", &o.Patience, 3 * time.Second},
		{"ReplicaTimeout", &o.ReplicaTimeout, 500 * time.Millisecond},
		{"LoadLease", &o.LoadLease, 10 * time.Second},
		{"Poll", &o.Poll, 500 * time.Millisecond},
	} {
		if *d.value == 0 {
			*d.value = d.preset
		}
		if *d.value < time.Millisecond || *d.value > maxTime {
			errs = append(errs, fmt.Errorf("%s must be 1ms to %s, not %s", d.name, maxTime, *d.value))
		}
	}
	for _, n := range []struct {
		name       string
		value, max int
	}{
		{"Journal", o.Journal, maxJournal},
		{"Replicas", o.Replicas, maxReplicas},
		{"Known", o.Known, 1 << 28},
	} {
		if n.value < 1 || n.value > n.max {
			errs = append(errs, fmt.Errorf("%s must be 1 to %d, not %d", n.name, n.max, n.value))
		}
	}
	if !validPrefix(o.Prefix) {
		errs = append(errs, fmt.Errorf("the prefix must be 1 to %d visible ASCII characters without braces, not %q", maxPrefix, o.Prefix))
	}
	if len(o.Ledger) > maxLedger {
		errs = append(errs, fmt.Errorf("the ledger's name has more than %d bytes", maxLedger))
	}
	return errors.Join(errs...)
}

// validPrefix keeps braces out: they choose the cluster's slot.
func validPrefix(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] <= ' ' || s[i] > '~' || s[i] == '{' || s[i] == '}' {
			return false
		}
	}
	return len(s) >= 1 && len(s) <= maxPrefix
}

// Incident is something that deserves a counter.
type Incident struct {
	Kind  IncidentKind
	Sale  string
	Shard int
	N     int
}

// IncidentKind names what happened.
type IncidentKind string

// What may happen.
const (
	Forgotten   IncidentKind = "forgotten"    // a server lost what it knew of a sale
	Repeated    IncidentKind = "repeated"     // an answer got lost, and the call was repeated
	Unreachable IncidentKind = "unreachable"  // and was given up
	JournalFull IncidentKind = "journal_full" // grants that were refused because of it
	NotCopied   IncidentKind = "not_copied"   // replicas did not confirm in time
	Moved       IncidentKind = "moved"        // units that went from one shard to another
)

// forgot is the error of a call that met a picture which cannot be trusted.
func forgot(v *view) error {
	return &rushgate.Error{Code: rushgate.Forgot, Epoch: v.lastLost(),
		Message: fmt.Sprintf("Redis has lost what it knew of sale %s; it must be loaded anew", v.id)}
}
