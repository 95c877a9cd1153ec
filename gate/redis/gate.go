package redis

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"rushgate"
)

// Gate is a rushgate.Shared in Redis. Open makes one.
type Gate struct {
	client  rueidis.Client
	opts    Options
	names   names
	scripts scripts

	node    string       // this gate, among all that ever were
	batches atomic.Int64 // that it sent
	dials   atomic.Int64 // connections that were ever made

	mu    sync.RWMutex
	sales map[string]*view

	seeds seeds
	watch watch
}

var _ rushgate.Shared = (*Gate)(nil)

// view returns what this node knows of a sale; it is made at the first call.
func (g *Gate) view(id string) *view {
	g.mu.RLock()
	v := g.sales[id]
	g.mu.RUnlock()
	if v != nil {
		return v
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if v = g.sales[id]; v == nil {
		v = &view{id: id}
		g.sales[id] = v
	}
	return v
}

// maxViews bounds the sales that a gate remembers without knowing them to exist.
const maxViews = 100_000

// find returns the view of a sale of which Redis has a picture: known is false
// when there is none.
func (g *Gate) find(ctx context.Context, id string) (v *view, known bool, err error) {
	g.mu.RLock()
	v, full := g.sales[id], len(g.sales) >= maxViews
	g.mu.RUnlock()
	if v == nil {
		if full {
			return nil, false, fmt.Errorf("the gate has seen %d sales, and takes no more", maxViews)
		}
		v = g.view(id)
	}
	if v.current().epoch > 0 {
		return v, true, nil
	}
	c := &call{view: v, script: g.scripts.look, patient: true}
	g.run(ctx, c)
	if c.err != nil {
		return nil, false, c.err
	}
	return v, c.status != statusNone, nil
}

// known is find with an error for a sale that is not there.
func (g *Gate) known(ctx context.Context, id string) (*view, error) {
	v, known, err := g.find(ctx, id)
	if err == nil && !known {
		err = noSale(id)
	}
	return v, err
}

func noSale(id string) error {
	return &rushgate.Error{Code: rushgate.NotFound, Message: fmt.Sprintf("the gate has no sale %q", id)}
}

// Close implements rushgate.Gate. What is in Redis stays.
func (g *Gate) Close() error {
	g.watch.stop()
	g.watch.all.Wait()
	g.client.Close()
	return nil
}

// view is what this node knows of one sale: which picture it saw last.
type view struct {
	id string

	mu      sync.Mutex
	epoch   int64 // 0: none was seen
	shards  int
	limited bool
	ack     rushgate.Ack
	seqs    []int64 // the highest seen of each shard in this epoch
	trusted []int64 // how many dials there had been when the server was last found to be the right one
	lost    int64   // the highest epoch that was found to be forgotten

	tags  tags
	hints atomic.Pointer[hints]
	asked atomic.Bool // somebody has asked for it since the last look

	announced rushgate.Mark // at the last look; belongs to the goroutine that looks now and then
	nextCount time.Time     // when everybody may be read again; belongs to the one that reads
}

// sight is a view at one moment.
type sight struct {
	epoch   int64
	shards  int
	limited bool
	ack     rushgate.Ack
}

func (v *view) current() sight {
	v.mu.Lock()
	defer v.mu.Unlock()
	return sight{v.epoch, v.shards, v.limited, v.ack}
}

// adopt takes a picture of a higher epoch for the present one.
func (v *view) adopt(epoch int64, shards int, limited bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if epoch <= v.epoch || shards < 1 || shards > rushgate.MaxShards {
		return
	}
	v.epoch, v.shards, v.limited = epoch, shards, limited
	v.seqs, v.trusted = make([]int64, shards), make([]int64, shards)
}

// seen returns what is known of a shard before it is asked.
func (v *view) seen(shard int) (epoch, seq int64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if shard < len(v.seqs) {
		seq = v.seqs[shard]
	}
	return v.epoch, seq
}

// heard remembers the number of changes that a shard has told.
func (v *view) heard(shard int, epoch, seq int64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if epoch == v.epoch && shard < len(v.seqs) {
		v.seqs[shard] = max(v.seqs[shard], seq)
	}
}
