package redis

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"rushgate"
)

// call is one run of a script on one shard of a sale, with its answer.
type call struct {
	view   *view
	shard  int
	script *script
	extra  []string // KEYS[7…]
	args   []string // ARGV[4…]

	// epoch is that of the keys: 0 means that of the picture, whichever it
	// is. A load names its own.
	epoch int64

	// made is the epoch for which args were written, where that matters: with
	// another one, the call is done, and its status statusEpoch. 0: it does not.
	made int64

	patient bool // waits until a load has ended, instead of answering so
	copied  bool // waits for replicas, on the connection that wrote

	status string
	head   head
	rest   []rueidis.RedisMessage
	copies int64 // replicas that have it, when copied
	err    error

	whole    bool  // send the script itself: the server does not know its hash
	asked    int64 // the epoch of the keys in the latest attempt
	askedSeq int64 // what was known of the shard then
	result   rueidis.RedisResult

	sent, received time.Time // the latest attempt
}

// head is what every good answer begins with.
type head struct {
	epoch, version, seq int64
	at                  time.Time
}

// The first word of an answer: see control.lua.
const (
	statusOK        = "ok"
	statusNone      = "none"
	statusLoading   = "loading"
	statusEpoch     = "epoch"
	statusStale     = "stale"
	statusLost      = "lost"      // a load's: see load.lua
	statusForgotten = "forgotten" // ours: what was answered cannot be believed
)

// verdict says what to do with a call after an attempt.
type verdict int

const (
	done  verdict = iota
	again         // at once, differently
	later         // the answer may be lost, or the server is busy
)

// Between two attempts there is a pause that doubles.
const (
	firstPause = 5 * time.Millisecond
	lastPause  = 200 * time.Millisecond
	mostTurns  = 64
)

// run carries out calls, all at the same time, and repeats what got no answer:
// every script can be asked twice. It returns when each call has its answer or
// its error; those of one shard must not depend on each other's order.
func (g *Gate) run(ctx context.Context, calls ...*call) {
	ctx, cancel := context.WithTimeout(ctx, g.opts.Patience)
	defer cancel()
	pause, pending := firstPause, calls
	for range mostTurns {
		g.exchange(ctx, pending)
		var rest []*call
		wait := false
		for _, c := range pending {
			v := g.judge(ctx, c)
			wait = wait || v == later
			if v != done {
				rest = append(rest, c)
			}
		}
		if pending = rest; len(pending) == 0 {
			return
		}
		if !wait {
			continue
		}
		g.opts.Observe(Incident{Kind: Repeated, Sale: pending[0].view.id, Shard: pending[0].shard, N: len(pending)})
		select {
		case <-time.After(pause):
			pause = min(2*pause, lastPause)
		case <-ctx.Done():
			g.giveUp(pending, ctx.Err())
			return
		}
	}
	g.giveUp(pending, errors.New("the picture changes all the time"))
}

// giveUp ends calls whose outcome stays unknown.
func (g *Gate) giveUp(calls []*call, cause error) {
	for _, c := range calls {
		if c.err == nil && c.status == statusLoading {
			c.err = loadingNow(c.view.id)
		} else if c.err == nil {
			c.err = cause
		}
		g.opts.Observe(Incident{Kind: Unreachable, Sale: c.view.id, Shard: c.shard, N: 1})
		g.opts.Log.Warn("Redis gives no answer", "sale", c.view.id, "shard", c.shard, "error", c.err)
	}
}

func loadingNow(sale string) error {
	return &rushgate.Error{Code: rushgate.Unavailable, Message: "the gate of sale " + sale + " is being loaded", RetryAfter: time.Second}
}

// exchange sends every call once.
func (g *Gate) exchange(ctx context.Context, calls []*call) {
	ctx, cancel := context.WithTimeout(ctx, g.opts.Timeout)
	defer cancel()
	var plain []*call
	var commands []rueidis.Completed
	var copying sync.WaitGroup
	for _, c := range calls {
		if c.copied {
			copying.Go(func() { g.copy(ctx, c) })
			continue
		}
		plain = append(plain, c)
		commands = append(commands, g.command(c))
	}
	switch len(plain) {
	case 0:
	case 1:
		plain[0].result = g.client.Do(ctx, commands[0])
	default:
		for i, r := range g.client.DoMulti(ctx, commands...) {
			plain[i].result = r
		}
	}
	copying.Wait()
	for _, c := range calls {
		c.received = time.Now()
	}
}

// copy sends a call and waits for replicas. WAIT speaks of the writes of its
// own connection alone (https://redis.io/commands/wait), so nobody else may
// have that connection meanwhile. A claim that was there already still changes
// seq, so that the connection has written after everything it tells.
func (g *Gate) copy(ctx context.Context, c *call) {
	c.copies = 0
	err := g.client.Dedicated(func(d rueidis.DedicatedClient) error {
		c.result = d.Do(ctx, g.command(c))
		if c.result.Error() != nil {
			return nil // judged by its result
		}
		n, err := d.Do(ctx, g.client.B().Wait().Numreplicas(int64(g.opts.Replicas)).
			Timeout(g.opts.ReplicaTimeout.Milliseconds()).Build()).AsInt64()
		if err == nil {
			c.copies = n
		}
		return nil
	})
	if err != nil {
		c.err = err
	}
}

// command writes a call down, under the epoch that is known now.
func (g *Gate) command(c *call) rueidis.Completed {
	c.err, c.sent = nil, time.Now()
	c.asked, c.askedSeq = c.view.seen(c.shard)
	epoch := c.asked
	if c.epoch > 0 {
		epoch = c.epoch
	} else if c.made > 0 {
		epoch = c.made
	}
	keys := append(g.names.of(c.view.id, c.shard, epoch), c.extra...)
	args := append([]string{strconv.FormatInt(epoch, 10), g.names.channel(), c.view.id}, c.args...)
	if c.whole {
		return g.client.B().Eval().Script(c.script.body).Numkeys(int64(len(keys))).Key(keys...).Arg(args...).Build()
	}
	return g.client.B().Evalsha().Sha1(c.script.sha).Numkeys(int64(len(keys))).Key(keys...).Arg(args...).Build()
}

// judge reads an answer and decides how it goes on.
func (g *Gate) judge(ctx context.Context, c *call) verdict {
	if err := c.result.Error(); err != nil {
		return c.failed(err)
	}
	if err := c.read(); err != nil {
		c.err = err
		return done
	}
	if c.epoch > 0 { // whoever names an epoch knows what he does
		if c.status == statusLoading && c.patient {
			return later
		}
		return done
	}
	switch c.status {
	case statusLoading:
		if c.patient {
			return later
		}
	case statusNone:
		if c.asked > 0 {
			g.forgotten(c, c.asked, "the picture is gone")
		}
	case statusEpoch:
		if c.head.epoch < c.asked {
			g.forgotten(c, c.asked, "the picture is an older one")
			return done
		}
		shards, _ := c.rest[0].AsInt64()
		limit, _ := c.rest[1].AsInt64()
		c.view.adopt(c.head.epoch, int(shards), limit > 0)
		if c.made > 0 {
			return done
		}
		return again
	case statusOK:
		return g.believe(ctx, c)
	}
	return done
}

// read takes an answer apart.
func (c *call) read() error {
	list, err := c.result.ToArray()
	if err != nil || len(list) == 0 {
		return errors.Join(errors.New("a script is answered with something else than a list"), err)
	}
	c.head, c.rest = head{}, nil
	if c.status, err = list[0].ToString(); err != nil {
		return err
	}
	var numbers []rueidis.RedisMessage
	switch c.status {
	case statusEpoch, statusStale:
		numbers, c.rest = list[1:2], list[2:]
	case statusOK:
		numbers, c.rest = list[1:5], list[5:]
	default:
		c.rest = list[1:]
		return nil
	}
	var n [4]int64
	for i := range numbers {
		if n[i], err = numbers[i].AsInt64(); err != nil {
			return err
		}
	}
	c.head = head{epoch: n[0], version: n[1], seq: n[2], at: time.UnixMilli(n[3])}
	return nil
}

// failed judges an attempt that brought no answer.
func (c *call) failed(err error) verdict {
	c.err = explain(err)
	reply, answered := rueidis.IsRedisErr(err)
	switch {
	case answered && reply.IsNoScript() && !c.whole:
		c.whole = true
		return again
	case answered && !passing(reply.Error()), errors.Is(err, rueidis.ErrClosing):
		return done
	}
	return later
}
