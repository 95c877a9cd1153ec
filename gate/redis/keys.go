package redis

import (
	"hash/fnv"
	"strconv"
)

// names makes the keys of a gate. All keys of one shard of a sale share a hash
// tag, so that a cluster keeps them on one server and one script may change
// them together.
type names struct{ prefix string }

// channel is where the scripts tell that a sale has changed.
func (n names) channel() string { return n.prefix + "news" }

// ledger holds the name of the ledger that all these keys belong to.
func (n names) ledger() string { return n.prefix + "ledger" }

func (n names) shard(sale string, shard int) string {
	return n.prefix + "{" + sale + "." + strconv.Itoa(shard) + "}:"
}

// of returns KEYS[1..6] of every script: see control.lua. The names of what
// belongs to one picture carry its epoch, so that a new picture can be laid
// beside it and take its place in one step.
func (n names) of(sale string, shard int, epoch int64) []string {
	base, at := n.shard(sale, shard), ":"+strconv.FormatInt(epoch, 10)
	return []string{base + "control", base + "loading", base + "holders" + at, base + "keys" + at, base + "journal" + at, base + "moves" + at}
}

// once returns the key under which a script remembers that it made a change.
func (n names) once(sale string, shard int, token string) string {
	return n.shard(sale, shard) + "once:" + token
}

// shardOf says which shard a user belongs to. It is the same on every node and
// in every version: all that one person has is in one place, so that the limit
// is exact. (FNV-1a, 64 bits; http://www.isthe.com/chongo/tech/comp/fnv)
func shardOf(user string, shards int) int {
	if shards <= 1 {
		return 0
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(user)) // never fails
	return int(h.Sum64() % uint64(shards))
}
