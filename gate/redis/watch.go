package redis

import (
	"context"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"rushgate"
)

// watch hears of changes and looks at the sales now and then. It has three
// goroutines: one that listens, one that reads everybody who has something, which
// may take long, and one that does everything else.
type watch struct {
	stop context.CancelFunc
	all  sync.WaitGroup

	mu    sync.Mutex
	f     func(sale string)
	dirty map[string]bool // sale: true when it came as news from somebody
	wake  chan struct{}

	uncounted chan *view // sales of which everybody should be read
}

// Listen implements rushgate.Shared.
func (g *Gate) Listen(f func(sale string)) {
	g.watch.mu.Lock()
	defer g.watch.mu.Unlock()
	g.watch.f = f
}

func (g *Gate) startWatching() {
	ctx, cancel := context.WithCancel(context.Background())
	g.watch.stop = cancel
	g.watch.dirty, g.watch.wake = map[string]bool{}, make(chan struct{}, 1)
	g.watch.uncounted = make(chan *view, 1)
	g.watch.all.Go(func() { g.listen(ctx) })
	g.watch.all.Go(func() { g.countEach(ctx) })
	g.watch.all.Go(func() { g.attend(ctx) })
}

// refresh has a sale looked at soon, on this node's own account.
func (g *Gate) refresh(sale string) { g.note(sale, false) }

func (g *Gate) note(sale string, news bool) {
	g.watch.mu.Lock()
	g.watch.dirty[sale] = g.watch.dirty[sale] || news
	g.watch.mu.Unlock()
	select {
	case g.watch.wake <- struct{}{}:
	default:
	}
}

// listen waits for news until the gate is closed. After a time without hearing,
// every sale may have changed.
func (g *Gate) listen(ctx context.Context) {
	for ctx.Err() == nil {
		err := g.client.Receive(ctx, g.client.B().Subscribe().Channel(g.names.channel()).Build(), func(m rueidis.PubSubMessage) {
			g.note(m.Message, true)
		})
		if ctx.Err() == nil {
			g.opts.Log.Warn("news of other nodes are not heard; looking now and then goes on", "error", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(g.opts.Poll):
		}
		for _, v := range g.views() {
			g.note(v.id, true)
		}
	}
}

// attend looks at what may have changed, and at everything now and then.
func (g *Gate) attend(ctx context.Context) {
	poll := time.NewTicker(g.opts.Poll)
	defer poll.Stop()
	for tick := 0; ; {
		select {
		case <-ctx.Done():
			return
		case <-g.watch.wake:
		case <-poll.C:
			tick++
			g.noteAll(tick%quietTicks == 0)
		}
		g.watch.mu.Lock()
		dirty, f := g.watch.dirty, g.watch.f
		g.watch.dirty = map[string]bool{}
		g.watch.mu.Unlock()
		for sale, news := range dirty {
			if ctx.Err() != nil {
				return
			}
			if g.review(ctx, sale) || news {
				if f != nil {
					f(sale)
				}
			}
		}
	}
}

// quietTicks is how many times less often the gate looks at a sale that nobody
// asks for: of thousands, few sell at the same time.
const quietTicks = 20

// noteAll has the sales looked at that somebody has asked for since the last
// time, or all.
func (g *Gate) noteAll(quiet bool) {
	for _, v := range g.views() {
		if v.current().epoch > 0 && (v.asked.Swap(false) || quiet) {
			g.note(v.id, false)
		}
	}
}

// review looks at a sale, and says whether its picture is another than it was
// at the last look.
func (g *Gate) review(ctx context.Context, sale string) (changed bool) {
	ctx, cancel := context.WithTimeout(ctx, g.opts.Timeout)
	defer cancel()
	v := g.view(sale)
	pictures, err := g.look(ctx, v)
	if err != nil {
		g.dropOldHints()
		return false
	}
	g.learnPictures(v, pictures)
	now := markOf(pictures)
	changed = now.Epoch != v.announced.Epoch || now.Version != v.announced.Version
	v.announced = now
	if h := v.hints.Load(); h != nil && h.wanting() {
		select {
		case g.watch.uncounted <- v:
		default: // another one is counted: it is offered again at the next look
		}
	}
	return changed
}

// hintAge is for how many Timeouts a sale may not have been looked at when the
// gate drops its hints, because looks fail. Nobody is refused for longer by what
// has changed meanwhile: no longer than this, a Poll and a last Timeout together.
const hintAge = 3

// dropOldHints is called when a look has failed. It has all sales in mind: with
// many of them, the next look at each would come late.
func (g *Gate) dropOldHints() {
	oldest := time.Now().Add(-hintAge * g.opts.Timeout).UnixMilli()
	for _, v := range g.views() {
		if h := v.hints.Load(); h != nil && h.looked.Load() < oldest {
			v.hints.CompareAndSwap(h, nil)
		}
	}
}

// views returns the sales that the gate has heard of.
func (g *Gate) views() []*view {
	g.mu.RLock()
	defer g.mu.RUnlock()
	list := make([]*view, 0, len(g.sales))
	for _, v := range g.sales {
		list = append(list, v)
	}
	return list
}

// markOf is the mark of a look at all shards. Where they have different rules, a
// change is on its way, or whoever made it has died: no version is that of all,
// and the mark has none, so that nobody takes the gate to be in step.
func markOf(pictures []*picture) rushgate.Mark {
	var m rushgate.Mark
	for i, p := range pictures {
		if p == nil || i > 0 && p.epoch != m.Epoch {
			return rushgate.Mark{}
		}
		if i == 0 {
			m.Epoch, m.Version = p.epoch, p.version
		}
		if p.version != m.Version {
			m.Version = 0
		}
		m.Seq += p.seq
	}
	return m
}
