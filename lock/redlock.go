package lock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// Redlock is a Backend over several others that know nothing of each other, such
// as masters without replicas on machines of their own: a claim is held when
// most of them granted it, so that it survives the loss of a minority. Make it
// by NewRedlock.
//
// The algorithm is Redis's
// (https://redis.io/docs/latest/develop/use/patterns/distributed-locks/), with
// two differences. Validity is counted by the Locker, from before the first
// request, as for any backend. And there is a fence: each server answers one of
// its own; the greatest is written back to those that granted, and the claim
// is held when most have it. The next majority shares a server with this one,
// so that its fence is greater (the write-back of Attiya, Bar-Noy, Dolev,
// "Sharing memory robustly in message-passing systems", 1995).
//
// What it does not guarantee: see the package documentation.
//
// Permits are counted by each server on its own, and two majorities share but
// one. So for a semaphore more must grant: all but a few, and with a limit of
// N−1 or more all N. It survives the loss of so few servers, then of none.
//
// There is no common line: who waits asks again after a random time. A claim
// that is asked for again may get a greater fence, of a server that was late.
type Redlock struct {
	servers []Backend
	patient time.Duration
	ctx     context.Context
	stop    context.CancelFunc
	all     sync.WaitGroup

	mu       sync.Mutex
	acquires map[string]*acquire // by token, while some server has not answered
}

// RedlockOptions are what a Redlock is made with. The zero value of every field
// means its default.
type RedlockOptions struct {
	// Timeout bounds one exchange with one server; default 200 ms. It should be
	// less than half of Options.Timeout, as a lock takes two exchanges, and much
	// less than the lease.
	Timeout time.Duration
}

// Bounds of a Redlock.
const (
	leastServers = 3
	mostServers  = 15

	// Who did not get a majority asks again after a random time up to this, so
	// that of several who took some servers each, one comes first.
	spread = 60 * time.Millisecond
)

// NewRedlock returns a Redlock over 3 to 15 servers, an odd number: an even one
// costs more and survives no more.
func NewRedlock(servers []Backend, opts RedlockOptions) (*Redlock, error) {
	if opts.Timeout == 0 {
		opts.Timeout = 200 * time.Millisecond
	}
	switch n := len(servers); {
	case n < leastServers || n > mostServers || n%2 == 0:
		return nil, invalid("Redlock needs an odd number of servers from %d to %d, not %d", leastServers, mostServers, n)
	case opts.Timeout < time.Millisecond || opts.Timeout > MaxLease:
		return nil, invalid("Redlock's Timeout must be 1ms to %s, not %s", MaxLease, opts.Timeout)
	}
	for _, s := range servers {
		if s == nil {
			return nil, invalid("one of Redlock's servers is missing")
		}
	}
	r := &Redlock{servers: slices.Clone(servers), patient: opts.Timeout, acquires: map[string]*acquire{}}
	r.ctx, r.stop = context.WithCancel(context.Background())
	return r, nil
}

// Close gives up what is still asked of slow servers and waits for it. It is to
// be called after the Locker's.
func (r *Redlock) Close() error {
	r.stop()
	r.all.Wait()
	return nil
}

// quorum is how many servers must grant a claim: of N, each of which has granted
// limit permits at most, so many that there is no room for limit+1 permits on so
// many servers each. Of claims of which two exclude each other it is a majority.
func (r *Redlock) quorum(c *Claim) int {
	n := len(r.servers)
	if c.Need == c.Limit || c.Need == 1 && c.Limit == MaxPermits { // Lock, RLock
		return n/2 + 1
	}
	return int(int64(n)*c.Limit/(c.Limit+1)) + 1
}

// Acquire implements Backend.
func (r *Redlock) Acquire(ctx context.Context, c Claim) Answer {
	patient := c.Line > 0
	c.Line = 0
	r.begin(c.Token)
	quorum := r.quorum(&c)
	sum := r.ask(ctx, r.servers, quorum, func(ctx context.Context, b Backend) Answer {
		a := b.Acquire(ctx, c)
		if r.over(c.Token) { // it may have been granted after the release
			b.Release(ctx, []Claim{c})
		}
		return a
	})
	if len(sum.granted) >= quorum {
		return r.settle(ctx, c, sum)
	}
	a := sum.refusal(quorum)
	if a.Err != nil {
		if len(sum.states) == 0 || !patient {
			return a // asked again, the same claim may still be granted
		}
		// Others have some servers. Who kept those that granted, and went on asking
		// because some are silent, might wait for them for ever, and they for him.
		a = sum.worst()
	}
	// What a few have granted is given back at once, so that others get it. All
	// are told: some may have granted it whose answer got lost.
	r.all.Go(func() { r.Release(r.ctx, []Claim{c}) })
	if patient && a.State == Taken {
		a.Left = time.Duration(1 + rand.Int64N(int64(spread)))
	}
	return a
}

// Renew implements Backend. A server that granted late, with a fence of its
// own, is raised by the way; a greater one there does no harm.
func (r *Redlock) Renew(ctx context.Context, claims []Claim) []Answer {
	return r.each(claims, func(c Claim) Answer {
		quorum := r.quorum(&c)
		sum := r.ask(ctx, r.servers, quorum, func(ctx context.Context, b Backend) Answer { return b.Renew(ctx, []Claim{c})[0] })
		if len(sum.granted) < quorum {
			return sum.refusal(quorum)
		}
		return Answer{State: Granted, Fence: cmp.Or(c.Fence, sum.fence()), Left: sum.left}
	})
}

// Release implements Backend. It asks every server, also those that did not
// grant: an answer may have been lost.
func (r *Redlock) Release(ctx context.Context, claims []Claim) []Answer {
	return r.each(claims, func(c Claim) Answer {
		r.end(c.Token)
		quorum := r.quorum(&c)
		sum := r.ask(ctx, r.servers, quorum, func(ctx context.Context, b Backend) Answer { return b.Release(ctx, []Claim{c})[0] })
		if len(sum.granted) >= quorum {
			return Answer{State: Granted, Fence: sum.fence()}
		}
		return sum.refusal(quorum)
	})
}

// Listen implements Backend. There is nothing to hear.
func (r *Redlock) Listen(ctx context.Context, _ string, ready func(), _ func(Grant)) error {
	ready()
	<-ctx.Done()
	return ctx.Err()
}

// settle makes the servers that granted a claim agree on its fence, the greatest
// of theirs. The claim is held when a quorum does.
func (r *Redlock) settle(ctx context.Context, c Claim, sum *tally) Answer {
	c.Fence = sum.fence()
	agreed, quorum := 0, r.quorum(&c)
	var behind []Backend
	for b, fence := range sum.granted {
		if fence == c.Fence {
			agreed++
		} else {
			behind = append(behind, b)
		}
	}
	if agreed >= quorum {
		return Answer{State: Granted, Fence: c.Fence, Left: sum.left}
	}
	raised := r.ask(ctx, behind, quorum, func(ctx context.Context, b Backend) Answer { return b.Renew(ctx, []Claim{c})[0] })
	for _, fence := range raised.granted {
		if fence == c.Fence {
			agreed++
		}
	}
	if agreed >= quorum {
		return Answer{State: Granted, Fence: c.Fence, Left: sum.left}
	}
	return Answer{Err: fmt.Errorf("%w: %d of %d servers agree on the fence: %w", ErrUnavailable, agreed, len(r.servers), errors.Join(raised.errs...))}
}

// each answers for several claims at the same time.
func (r *Redlock) each(claims []Claim, f func(Claim) Answer) []Answer {
	answers := make([]Answer, len(claims))
	if len(claims) == 1 {
		answers[0] = f(claims[0])
		return answers
	}
	var all sync.WaitGroup
	for i := range claims {
		all.Go(func() { answers[i] = f(claims[i]) })
	}
	all.Wait()
	return answers
}
