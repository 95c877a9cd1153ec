package redis

import (
	"context"
	"sync"
	"time"

	"github.com/redis/rueidis"
)

// ends listens to the ends of attempts, on one subscription for all keys: an end
// is told only when somebody waits for it, so the channel is quiet. The
// subscription begins with the first who waits, and lasts until close.
type ends struct {
	client  rueidis.Client
	channel string
	over    context.Context // ends with close
	stop    context.CancelFunc
	all     sync.WaitGroup

	mu      sync.Mutex // guards the rest
	begun   bool
	heard   chan struct{} // closed while the subscription stands
	waiting map[string]map[chan struct{}]struct{}
}

const (
	subscribing = time.Second            // how long a subscription may take before a caller goes on without
	resubscribe = 100 * time.Millisecond // after one that broke
)

func newEnds(c rueidis.Client, channel string) *ends {
	e := &ends{client: c, channel: channel, heard: make(chan struct{}), waiting: map[string]map[chan struct{}]struct{}{}}
	e.over, e.stop = context.WithCancel(context.Background())
	return e
}

func (e *ends) close() {
	e.mu.Lock()
	e.begun = true // or nobody begins any more
	e.mu.Unlock()
	e.stop()
	e.all.Wait()
}

// watch returns a channel that gets a value when the key's attempt may have ended,
// or nil when Redis does not let us listen.
func (e *ends) watch(ctx context.Context, key string) (<-chan struct{}, func()) {
	ended := make(chan struct{}, 1)
	e.mu.Lock()
	if !e.begun {
		e.begun = true
		e.all.Go(e.listen)
	}
	if e.waiting[key] == nil {
		e.waiting[key] = map[chan struct{}]struct{}{}
	}
	e.waiting[key][ended] = struct{}{}
	heard := e.heard
	e.mu.Unlock()
	stop := func() { e.leave(key, ended) }
	t := time.NewTimer(subscribing)
	defer t.Stop()
	select {
	case <-heard:
		return ended, stop
	case <-t.C:
	case <-ctx.Done():
	case <-e.over.Done():
	}
	return nil, stop
}

func (e *ends) leave(key string, ended chan struct{}) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.waiting[key], ended)
	if len(e.waiting[key]) == 0 {
		delete(e.waiting, key)
	}
}

// listen subscribes, again and again when the connection breaks.
func (e *ends) listen() {
	for e.over.Err() == nil {
		ctx := rueidis.WithOnSubscriptionHook(e.over, func(s rueidis.PubSubSubscription) {
			if s.Kind == "subscribe" {
				e.stands()
			}
		})
		_ = e.client.Receive(ctx, e.client.B().Subscribe().Channel(e.channel).Build(), func(m rueidis.PubSubMessage) { e.tell(m.Message) })
		e.broken()
		t := time.NewTimer(resubscribe)
		select {
		case <-t.C:
		case <-e.over.Done():
		}
		t.Stop()
	}
}

// stands is called when the subscription is confirmed. Whatever was told before
// is lost, so all who wait look for themselves.
func (e *ends) stands() {
	e.mu.Lock()
	defer e.mu.Unlock()
	select {
	case <-e.heard:
	default:
		close(e.heard)
	}
	for _, all := range e.waiting {
		wake(all)
	}
}

func (e *ends) broken() {
	e.mu.Lock()
	defer e.mu.Unlock()
	select {
	case <-e.heard:
		e.heard = make(chan struct{})
	default:
	}
}

func (e *ends) tell(key string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	wake(e.waiting[key])
}

func wake(all map[chan struct{}]struct{}) {
	for ended := range all {
		select {
		case ended <- struct{}{}:
		default: // it has not heard of the last end yet
		}
	}
}
