package redis

import (
	"sync"

	"rushgate"
)

// tags remembers in which entry of the journal a claim is, so that Settle needs
// not look for it. What it does not remember, Redis finds by the holder's
// record: forgetting costs time only.
type tags struct {
	mu sync.Mutex
	of map[rushgate.ID]string
}

// maxTags bounds what is remembered of one sale. Claims are settled within
// moments; those that were not until then will not be.
const maxTags = 1 << 17

func (t *tags) remember(id rushgate.ID, tag string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.of == nil || len(t.of) >= maxTags {
		t.of = make(map[rushgate.ID]string)
	}
	t.of[id] = tag
}

// settled writes claims for settle.lua, and forgets their tags.
func (t *tags) settled(claims []*rushgate.Claim) string {
	groups, others := map[string][]rushgate.ID{}, make([]*rushgate.Claim, 0)
	t.mu.Lock()
	for _, c := range claims {
		if tag, ok := t.of[c.ID]; ok {
			groups[tag] = append(groups[tag], c.ID)
			delete(t.of, c.ID)
		} else {
			others = append(others, c)
		}
	}
	t.mu.Unlock()
	b := make(pack, 0, 32*len(claims)).list(3).list(3 * len(groups))
	for tag, ids := range groups {
		list := make(pack, 0, 24*len(ids)).list(len(ids))
		for _, id := range ids {
			list = list.text(id.String())
		}
		b = b.text(tag).number(int64(len(ids))).bytes(list)
	}
	var users places
	rest := make(pack, 0, 32*len(others)).list(2 * len(others))
	for _, c := range others {
		user, _ := users.of([]byte(c.User))
		rest = rest.text(c.ID.String()).number(user)
	}
	return string(append(b.texts(users.list), rest...))
}
