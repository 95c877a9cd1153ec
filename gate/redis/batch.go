package redis

import (
	"strconv"

	"rushgate"
)

// claimCall writes the asks of a part for claim.lua.
func (g *Gate) claimCall(p *part) *call {
	var items, lines, users, keys places
	var itemOf, quantityOf []int64
	at := p.view.current()
	tag := g.tag()
	record := make([]byte, 0, 64)
	columns := newColumns(len(p.asks))
	body := make(pack, 0, 48*len(p.asks)).list(len(p.asks))
	for _, a := range p.asks {
		record = append(strconv.AppendInt(record[:0], a.Quantity, 10), ' ')
		record = append(append(append(record, a.Item...), ' '), tag...)
		line, fresh := lines.of(record)
		if fresh {
			item, _ := items.of([]byte(a.Item))
			itemOf, quantityOf = append(itemOf, item), append(quantityOf, a.Quantity)
		}
		if record = record[:0]; at.limited {
			record = append(record, "0 "...)
		}
		if record = strconv.AppendInt(record, int64(a.ID), 10); at.limited {
			record = append(append(record, ' '), lines.list[line-1]...)
		}
		user, _ := users.of([]byte(a.User))
		var key int64
		if a.Key != "" {
			key, _ = keys.of([]byte(a.Key))
		}
		body = body.bytes(record)
		columns.add(user, line, key)
	}
	b := make(pack, 0, len(body)+32*len(p.asks)+256).list(10).texts(items.list).texts(lines.list)
	b = b.numbers(itemOf).numbers(quantityOf).texts(users.list).texts(keys.list)
	b = columns.write(append(b, body...))
	p.items = items.list
	p.call = &call{view: p.view, shard: p.shard, script: g.scripts.claim, made: at.epoch,
		copied: at.ack == rushgate.Replicated,
		args:   []string{strconv.Itoa(g.opts.Journal), tag, string(b)}}
	return p.call
}

// columns are the places of asks in the lists of a batch. What can be told
// without them is left out: the script reads half as much.
type columns struct {
	users, lines, keys      []int64
	ownUser, oneLine, noKey bool
}

func newColumns(n int) *columns {
	return &columns{users: make([]int64, 0, n), lines: make([]int64, 0, n), keys: make([]int64, 0, n),
		ownUser: true, oneLine: true, noKey: true}
}

func (c *columns) add(user, line, key int64) {
	c.users, c.lines, c.keys = append(c.users, user), append(c.lines, line), append(c.keys, key)
	c.ownUser = c.ownUser && user == int64(len(c.users))
	c.oneLine = c.oneLine && line == 1
	c.noKey = c.noKey && key == 0
}

func (c *columns) write(b pack) pack {
	for _, column := range []struct {
		places []int64
		plain  bool
	}{{c.users, c.ownUser}, {c.lines, c.oneLine}, {c.keys, c.noKey}} {
		if column.plain {
			column.places = nil
		}
		b = b.numbers(column.places)
	}
	return b
}

// tag returns a name for an entry of the journal that no other batch ever had,
// of this node or another.
func (g *Gate) tag() string { return g.node + strconv.FormatInt(g.batches.Add(1), 36) }

// places numbers strings from 1, in the order in which they came.
type places struct {
	list  []string
	index map[string]int64
}

func (p *places) of(name []byte) (n int64, fresh bool) {
	if len(p.list) > 0 && p.list[len(p.list)-1] == string(name) {
		return int64(len(p.list)), false
	}
	if n, ok := p.index[string(name)]; ok {
		return n, false
	}
	if p.index == nil {
		p.index = map[string]int64{}
	}
	s := string(name)
	p.list = append(p.list, s)
	n = int64(len(p.list))
	p.index[s] = n
	return n, true
}
