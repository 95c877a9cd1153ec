package redis

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"rushgate/lock"
)

// Options are what a Backend is made with. The zero value of every field means
// its default.
type Options struct {
	// Prefix begins every key and channel that the backend uses; 1 to 64
	// visible ASCII characters without braces, default "lock:". Those who are
	// to exclude each other have the same.
	Prefix string

	// Memory is how long the fence of a key is remembered from its first use; 2 h
	// to 30 days, default 24 h. An idle key costs about 100 bytes until then. A
	// fence grows after it was forgotten too, as it goes on at the server's time,
	// unless that clock has gone back meanwhile.
	Memory time.Duration
}

const (
	defaultMemory = 24 * time.Hour
	leastMemory   = 2 * lock.MaxLease
	mostMemory    = 30 * 24 * time.Hour
	longestPrefix = 64
)

func (o *Options) complete() error {
	if o.Prefix == "" {
		o.Prefix = "lock:"
	}
	if o.Memory == 0 {
		o.Memory = defaultMemory
	}
	var errs []error
	if !validPrefix(o.Prefix) {
		errs = append(errs, fmt.Errorf("%w: the prefix must be 1 to %d visible ASCII characters without braces, not %q", lock.ErrInvalid, longestPrefix, o.Prefix))
	}
	if o.Memory < leastMemory || o.Memory > mostMemory {
		errs = append(errs, fmt.Errorf("%w: Memory must be %s to %s, not %s", lock.ErrInvalid, leastMemory, mostMemory, o.Memory))
	}
	return errors.Join(errs...)
}

func validPrefix(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] <= ' ' || s[i] > '~' || s[i] == '{' || s[i] == '}' {
			return false
		}
	}
	return len(s) >= 1 && len(s) <= longestPrefix
}

// Backend implements lock.Backend. It has no goroutine and needs no Close.
type Backend struct {
	client rueidis.Client
	prefix string
	wakes  string // what begins the channels of the nodes
	memory string // in ms

	acquire, renew, release *script
}

// New returns a backend on a client of one Redis, of a master that Sentinels
// know, or of a cluster. The caller closes the client, after the Locker.
func New(client rueidis.Client, opts Options) (*Backend, error) {
	if client == nil {
		return nil, fmt.Errorf("%w: a backend needs a client", lock.ErrInvalid)
	}
	if err := opts.complete(); err != nil {
		return nil, err
	}
	return &Backend{client: client, prefix: opts.Prefix, wakes: opts.Prefix + "wake:",
		memory:  strconv.FormatInt(opts.Memory.Milliseconds(), 10),
		acquire: newScript(keyLua, acquireUsualLua, claimsLua, acquireLua),
		renew:   newScript(keyLua, renewAloneLua, claimsLua, renewLua),
		release: newScript(keyLua, releaseAloneLua, claimsLua, releaseLua)}, nil
}

// Acquire implements lock.Backend.
func (b *Backend) Acquire(ctx context.Context, c lock.Claim) lock.Answer {
	call := b.call(b.acquire, &c, strconv.FormatInt(c.Need, 10), strconv.FormatInt(c.Limit, 10), strconv.Itoa(c.Line),
		strconv.Itoa(lock.MaxHolders), strconv.Itoa(lock.MaxHolds))
	return b.do(ctx, []run{call})[0]
}

// Renew implements lock.Backend.
func (b *Backend) Renew(ctx context.Context, claims []lock.Claim) []lock.Answer {
	calls := make([]run, len(claims))
	for i := range claims {
		calls[i] = b.call(b.renew, &claims[i], strconv.FormatUint(claims[i].Fence, 10))
	}
	return b.do(ctx, calls)
}

// Release implements lock.Backend.
func (b *Backend) Release(ctx context.Context, claims []lock.Claim) []lock.Answer {
	calls := make([]run, len(claims))
	for i := range claims {
		calls[i] = b.call(b.release, &claims[i])
	}
	return b.do(ctx, calls)
}

// Listen implements lock.Backend. Every node has a channel of its own, so that
// only those hear of a grant whom it concerns.
func (b *Backend) Listen(ctx context.Context, node string, ready func(), granted func(lock.Grant)) error {
	hooked := rueidis.WithOnSubscriptionHook(ctx, func(s rueidis.PubSubSubscription) {
		if s.Kind == "subscribe" {
			ready()
		}
	})
	channel := b.wakes + node
	var conn rueidis.CommandClient
	hooked = rueidis.WithOnReceiveReturnHook(hooked, func(err error, c rueidis.CommandClient) error {
		conn = c
		return err
	})
	err := b.client.Receive(hooked, b.client.B().Subscribe().Channel(channel).Build(), func(m rueidis.PubSubMessage) {
		token, digits, _ := strings.Cut(m.Message, " ")
		if fence, err := strconv.ParseUint(digits, 10, 64); err == nil {
			granted(lock.Grant{Token: token, Fence: fence})
		}
	})
	if conn != nil { // it is the client's, and stays; not in the hook, where nobody reads the news
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		conn.Do(ctx, conn.B().Unsubscribe().Channel(channel).Build())
	}
	return err
}
