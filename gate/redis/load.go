package redis

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"

	"rushgate"
)

// chunkClaims is how many claims of a snapshot one script takes.
const chunkClaims = 500

// Load implements rushgate.Gate. The new picture is laid beside the present one,
// piece by piece, under names that carry its epoch; then it takes its place in
// one step on each shard. Meanwhile the sale is closed: claims are Unavailable,
// and changes wait. A loader that dies leaves the sale closed for a lease, and
// then as it was; its epoch in the ledger keeps anything from being recorded
// that is sold by the old picture.
//
// free is the total less what is taken, by the stock row or by the claims,
// whichever is more. An old journal is dropped.
func (g *Gate) Load(ctx context.Context, snap rushgate.Snapshot) error {
	l, err := g.newLoad(snap)
	if err == nil {
		err = l.run(ctx)
	}
	if err != nil {
		return fmt.Errorf("load of sale %s: %w", snap.Sale.ID, err)
	}
	return nil
}

// load is one Load on its way.
type load struct {
	gate   *Gate
	snap   rushgate.Snapshot
	view   *view
	shards int
	token  string

	units    map[string]int64 // taken by the claims, by item
	chunks   []chunk          // what waits for each shard
	sent     []int            // how many chunks each shard was sent
	slotless []rushgate.Claim // from a time when the sale had no limit
	before   []int64          // the epoch of each shard's old picture
	seqs     []int64          // of each shard's new one
	skews    []skew           // of each shard's clock

	set   *known // everybody who has something
	whole bool   // and it had room for them
}

// chunk is what waits to be sent to one shard.
type chunk struct {
	claims []rushgate.Claim
	slots  []int32
	names  []string // keys, and the ids of their claims, in turn
}

func (g *Gate) newLoad(snap rushgate.Snapshot) (*load, error) {
	s := snap.Sale
	l := &load{gate: g, snap: snap, view: g.view(s.ID), shards: max(1, s.Shards), token: rand.Text(), units: map[string]int64{}}
	switch {
	case s.Epoch < 1:
		return nil, fmt.Errorf("epoch %d", s.Epoch)
	case l.shards > rushgate.MaxShards:
		return nil, fmt.Errorf("%d shards", l.shards)
	case len(snap.Stock) > rushgate.MaxItems:
		return nil, fmt.Errorf("%d items", len(snap.Stock))
	}
	for _, st := range snap.Stock {
		if _, twice := l.units[st.Item]; twice {
			return nil, fmt.Errorf("item %s is there twice", st.Item)
		}
		if st.Total < 0 || st.Total > rushgate.MaxStock || st.Taken < 0 {
			return nil, fmt.Errorf("item %s: %d taken of %d", st.Item, st.Taken, st.Total)
		}
		l.units[st.Item] = 0
	}
	l.chunks, l.sent = make([]chunk, l.shards), make([]int, l.shards)
	l.before, l.seqs, l.skews = make([]int64, l.shards), make([]int64, l.shards), make([]skew, l.shards)
	l.set, l.whole = newKnown(g.opts.Known), true
	return l, nil
}

func (l *load) run(ctx context.Context) error {
	err := l.everywhere(ctx, l.gate.scripts.loadBegin, func(int) []string { return nil }, nil)
	if err == nil {
		err = l.fill(ctx)
	}
	if err == nil {
		err = l.everywhere(ctx, l.gate.scripts.loadSwitch, l.control, func(c *call) {
			l.before[c.shard], _ = c.rest[0].AsInt64()
			l.seqs[c.shard] = c.head.seq
			l.skews[c.shard] = c.skew()
		})
	}
	if err == nil {
		l.learn() // before anything can be claimed: then no grant is missed
	}
	// The sale opens again even if the caller has gone; after a failure it opens by itself.
	leave, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.gate.opts.Patience)
	defer cancel()
	left := l.everywhere(leave, l.gate.scripts.loadEnd, func(int) []string { return nil }, nil)
	if err != nil {
		return err
	}
	l.sweep(leave)
	return left
}

// everywhere runs a script on every shard.
func (l *load) everywhere(ctx context.Context, s *script, args func(shard int) []string, use func(*call)) error {
	calls := make([]*call, l.shards)
	for i := range calls {
		calls[i] = l.call(i, s, args(i)...)
	}
	l.gate.run(ctx, calls...)
	var errs []error
	for _, c := range calls {
		if err := c.outcome(); err != nil {
			errs = append(errs, fmt.Errorf("shard %d: %w", c.shard, err))
		} else if use != nil {
			use(c)
		}
	}
	return errors.Join(errs...)
}

func (l *load) call(shard int, s *script, args ...string) *call {
	lease := strconv.FormatInt(l.gate.opts.LoadLease.Milliseconds(), 10)
	return &call{view: l.view, shard: shard, script: s, epoch: l.snap.Sale.Epoch, args: append([]string{l.token, lease}, args...)}
}

// fill sends the claims of the snapshot.
func (l *load) fill(ctx context.Context) error {
	for c, err := range l.snap.Claims {
		if err != nil {
			return err
		}
		if err := l.add(ctx, c); err != nil {
			return fmt.Errorf("claim %d: %w", c.ID, err)
		}
	}
	// Claims without a slot take those that the others left: they come last.
	for shard := range l.chunks {
		if err := l.send(ctx, shard); err != nil {
			return err
		}
	}
	for _, c := range l.slotless {
		if err := l.put(ctx, c, rushgate.NoSlot); err != nil {
			return fmt.Errorf("claim %d: %w", c.ID, err)
		}
	}
	for shard := range l.chunks {
		if err := l.send(ctx, shard); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// add takes one claim of the snapshot.
func (l *load) add(ctx context.Context, c rushgate.Claim) error {
	l.remember(&c)
	if c.Key != "" {
		to := &l.chunks[shardOf(c.User, l.shards)]
		to.names = append(to.names, c.Key, c.ID.String())
	}
	if !c.State.Active() {
		return l.sendFull(ctx, shardOf(c.User, l.shards))
	}
	units, known := l.units[c.Item]
	switch {
	case !known:
		return fmt.Errorf("its item %q has no stock", c.Item)
	case c.ID <= 0 || c.Quantity <= 0 || c.Quantity > rushgate.MaxQuantity:
		return fmt.Errorf("quantity %d", c.Quantity)
	}
	l.units[c.Item] = units + c.Quantity
	if l.snap.Sale.PerUser > 0 && c.Slot < 0 {
		l.slotless = append(l.slotless, c)
		return nil
	}
	return l.put(ctx, c, c.Slot)
}

func (l *load) put(ctx context.Context, c rushgate.Claim, slot int32) error {
	shard := shardOf(c.User, l.shards)
	to := &l.chunks[shard]
	to.claims, to.slots = append(to.claims, c), append(to.slots, slot)
	return l.sendFull(ctx, shard)
}

func (l *load) sendFull(ctx context.Context, shard int) error {
	if to := &l.chunks[shard]; len(to.claims) < chunkClaims && len(to.names) < 2*chunkClaims {
		return nil
	}
	return l.send(ctx, shard)
}

// send sends what waits for a shard.
func (l *load) send(ctx context.Context, shard int) error {
	from := &l.chunks[shard]
	if len(from.claims) == 0 && len(from.names) == 0 {
		return nil
	}
	var users places
	body := make(pack, 0, 64*len(from.claims)).list(5 * len(from.claims))
	for i, c := range from.claims {
		user, _ := users.of([]byte(c.User))
		body = body.text(c.ID.String()).number(user).number(int64(from.slots[i])).number(c.Quantity).
			text(strconv.FormatInt(c.Quantity, 10) + " " + c.Item + " -")
	}
	b := append(make(pack, 0, 3*len(body)).list(3).texts(users.list), body...).texts(from.names)
	*from = chunk{claims: from.claims[:0], slots: from.slots[:0], names: from.names[:0]}
	l.sent[shard]++
	c := l.call(shard, l.gate.scripts.loadChunk, strconv.Itoa(l.sent[shard]), flag(l.snap.Sale.PerUser > 0), string(b))
	l.gate.run(ctx, c)
	if c.err == nil && c.status == "taken" {
		id, _ := c.rest[0].ToString()
		return fmt.Errorf("claim %s: another claim is in its place", id)
	}
	return c.outcome()
}

// control returns how many chunks a shard must have, and the fields of control:
// the rules, and a slice of what is free. The first shards get the odd units.
func (l *load) control(shard int) []string {
	s := l.snap.Sale
	fields := append([]string{strconv.Itoa(l.sent[shard])}, rulesOf(s)...)
	fields = append(fields, "version", strconv.FormatInt(s.Version, 10), "shards", strconv.Itoa(l.shards))
	for _, st := range l.snap.Stock {
		fields = append(fields, "free:"+st.Item, strconv.FormatInt(slice(l.free(st), shard, l.shards), 10), "unsettled:"+st.Item, "0")
	}
	return fields
}

// free returns what is free of an item.
func (l *load) free(st rushgate.Stock) int64 { return st.Total - max(st.Taken, l.units[st.Item]) }

// slice returns a shard's part of free units. Where more is taken than there is,
// every shard has the whole debt: none of them may sell a unit that comes back
// before it is paid, and they do not see each other.
func slice(free int64, shard, shards int) int64 {
	n := int64(shards)
	if free < 0 {
		return free
	}
	part := free / n
	if int64(shard) < free%n {
		part++
	}
	return part
}

// sweep removes what belonged to the old pictures. What it misses costs memory
// and nothing else.
func (l *load) sweep(ctx context.Context) {
	for shard, epoch := range l.before {
		if epoch < 1 {
			continue
		}
		old := l.gate.names.of(l.view.id, shard, epoch)[2:]
		if err := l.gate.client.Do(ctx, l.gate.client.B().Unlink().Key(old...).Build()).Error(); err != nil {
			l.gate.opts.Log.Warn("an old picture could not be removed", "sale", l.view.id, "shard", shard, "epoch", epoch, "error", err)
		}
	}
}
