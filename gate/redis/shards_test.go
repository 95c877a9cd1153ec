package redis_test

import (
	"testing"

	"rushgate"
	"rushgate/gate/gatetest"
)

func TestSharedInShards(t *testing.T) {
	gatetest.RunShared(t, gatetest.SharedFactory{New: nodes, Shards: 3})
}

func TestGateInShards(t *testing.T) {
	gatetest.Run(t, gatetest.Factory{OwnClock: true, Shards: 3, New: func(tb testing.TB) rushgate.Gate { return nodes(tb, 1)[0] }})
}
