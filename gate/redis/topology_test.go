package redis_test

import (
	"strings"
	"testing"
	"time"

	"rushgate"
	"rushgate/gate/redis"
	"rushgate/internal/testenv"
)

// A replica that takes over may have missed what was acknowledged; nobody tells.
func TestAReplicaThatTookOverHasForgotten(t *testing.T) {
	t.Parallel() // it waits more than it works
	group := testenv.RedisSentinel(t, 1)
	url := "redis://" + strings.Join(group.Addrs(), ",") + "?sentinel=" + group.Name
	s := newShop(t, url, hasty(fresh()), 2)
	s.load(10)
	s.want(rushgate.Granted, s.asks(3))
	old, err := group.Master()
	if err != nil {
		t.Fatal(err)
	}
	old.Kill()
	if _, err := group.MasterAfter(old); err != nil {
		t.Fatal(err)
	}
	soon(t, "the gate finds the new master, and that it forgot", func() bool {
		codes, _ := s.decide(s.asks(6))
		if codes[rushgate.Granted] > 0 {
			t.Fatalf("believed a server that it does not know: %v", codes)
		}
		return codes[rushgate.Forgot] == 6
	})
	s.load(10)
	s.want(rushgate.Granted, s.asks(10))
	s.want(rushgate.SoldOut, s.asks(1))
}

func TestACluster(t *testing.T) {
	t.Parallel() // it waits more than it works
	group := testenv.RedisCluster(t, 3, 1)
	opts := hasty(fresh())
	opts.Timeout = 500 * time.Millisecond
	s := newShop(t, "redis://"+strings.Join(group.Addrs(), ","), opts, 4)
	s.load(50)
	s.want(rushgate.Granted, s.asks(25))
	s.want(rushgate.Granted, s.asks(25))
	s.want(rushgate.SoldOut, s.asks(5))
	s.free(0, 50)
	if s.count(redis.Moved) == 0 {
		t.Fatal("no units were moved")
	}
	facts, err := s.gate.Probe(t.Context())
	if err != nil || len(facts) < 3 || facts[0].Mode != "cluster" {
		t.Fatalf("%+v, %v", facts, err)
	}
	slot := keySlot("sale.0")
	old, err := group.Owner(slot)
	if err != nil {
		t.Fatal(err)
	}
	old.Kill()
	if _, err := group.OwnerAfter(slot, old); err != nil {
		t.Fatal(err)
	}
	soon(t, "the gate finds that the new master forgot", func() bool {
		codes, _ := s.decide(s.asks(20))
		return codes[rushgate.Forgot] > 0 && codes[rushgate.Unavailable] == 0
	})
	soon(t, "the sale is loaded anew", func() bool {
		s.sale.Epoch++
		return s.gate.Load(t.Context(), rushgate.Snapshot{Sale: &s.sale, Stock: []rushgate.Stock{{Item: "a", Total: 30}},
			Claims: func(func(rushgate.Claim, error) bool) {}}) == nil
	})
	s.want(rushgate.Granted, s.asks(30))
	s.want(rushgate.SoldOut, s.asks(5))
}

// keySlot returns the slot of a hash tag in a cluster.
// (CRC16-XMODEM; https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/)
func keySlot(tag string) int {
	var crc uint16
	for i := range len(tag) {
		crc ^= uint16(tag[i]) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
	}
	return int(crc % 16384)
}
