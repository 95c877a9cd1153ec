package rushgate

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// node is what a service does because it is not alone: its gate is Shared, and
// other nodes claim, change and fail at the same time. It follows what they
// change (follow.go), adopts what they left behind (adopter.go), mends the
// gate's picture of a sale when its memory was lost (mender.go), settles who
// stands where the ledger refused a grant (dispute.go), and keeps what it
// promised while the ledger was away (promise.go).
type node struct {
	gate    Shared
	ledger  Ledger
	now     func() time.Time
	ids     *ids
	log     *slog.Logger
	observe Observer
	catalog *catalog
	watch   *watch

	complain *complaints // what is tried again and again

	chores      func() bool
	followEvery time.Duration
	adoptAfter  time.Duration

	looks   sync.Mutex      // one look at the ledger at a time
	began   time.Time       // when the last look began
	seen    map[string]Mark // what it saw
	news    chan struct{}   // the gate told of a change
	waiters chan struct{}   // those who wait for a claim to be recorded

	caughtUp map[string]Mark // the state of the gate's rules for which a sale was read last

	absent atomic.Pointer[error]

	mends    sync.Mutex
	doubts   map[string]int64     // sale → the epoch whose picture cannot be trusted
	patience map[string]patience  // sales that somebody else seems to mend
	drains   map[string]int       // how often a sale could not be drained before a mend
	still    map[string]Mark      // the rules by which this node had the gate stand still last, to mend it
	ahead    map[string]time.Time // sales whose rules at the gate are not the ledger's, and since when
	doubted  chan struct{}        // there is a doubt

	owed     sync.Mutex
	promises []promise     // what buyers heard of and the ledger did not
	owing    chan struct{} // there is a promise
}

func newNode(cfg Config, gate Shared, d *desk) *node {
	n := &node{gate: gate, ledger: cfg.Ledger, now: cfg.Now, ids: d.ids, log: cfg.Log, observe: cfg.Observe,
		catalog: d.catalog, watch: d.watch, chores: cfg.Chores, followEvery: cfg.FollowEvery, adoptAfter: cfg.AdoptAfter,
		seen: map[string]Mark{}, caughtUp: map[string]Mark{}, news: make(chan struct{}, 1), waiters: make(chan struct{}, maxWaiters),
		complain: newComplaints(cfg.Log),
		doubts:   map[string]int64{}, patience: map[string]patience{}, ahead: map[string]time.Time{}, drains: map[string]int{}, still: map[string]Mark{},
		doubted: make(chan struct{}, 1),
		owing:   make(chan struct{}, 1)}
	gate.Listen(func(string) { wake(n.news) })
	return n
}

// wake makes a loop that sleeps on a channel look once more.
func wake(loop chan struct{}) {
	select {
	case loop <- struct{}{}:
	default:
	}
}

// open finds every sale in the gate, or brings it there: a node that starts
// must not disturb those that sell already.
func (n *node) open(ctx context.Context) error {
	if err := n.look(ctx); err != nil {
		return err
	}
	for _, sale := range n.catalog.all() {
		if err := n.mendNow(ctx, sale.ID); err != nil {
			return err
		}
	}
	return nil
}

// pause waits, or returns false when ctx ends first.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// every calls do now and then, and when somebody wakes it, until ctx ends.
func every(ctx context.Context, d time.Duration, woken <-chan struct{}, do func()) {
	tick := time.NewTicker(d)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-woken:
		}
		do()
	}
}
