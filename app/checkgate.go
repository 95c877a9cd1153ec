package app

import (
	"context"
	"fmt"

	"rushgate/gate/redis"
)

// gate looks at a gate in Redis: can it be used, and what is lost with it. It
// writes nothing there.
func (c *checkup) gate(ctx context.Context) {
	if !c.cfg.shared() {
		return
	}
	gate, err := redis.Open(ctx, c.cfg.Gate, redis.Options{})
	if err != nil {
		c.fail("gate", ofGate(err))
		return
	}
	defer gate.Close() // nothing is under way
	all, err := gate.Probe(ctx)
	if err != nil {
		c.fail("gate", ofGate(err))
		return
	}
	for i := range all {
		c.redis(&all[i])
	}
	c.owner(ctx, gate)
	if kindOf(c.cfg.Gate) == gateRedis && !near(c.cfg.Gate) {
		c.warn("gate TLS", "off: whoever reads the network reads claims, and may change them; rediss:// speaks TLS")
	}
}

// owner looks whose sales are in this Redis.
func (c *checkup) owner(ctx context.Context, gate *redis.Gate) {
	owner, err := gate.Owner(ctx)
	switch {
	case err != nil:
		c.fail("gate owner", ofGate(err))
	case owner == "":
		c.fine("gate owner", "nobody sells with it yet")
	case c.ledgerID != "" && owner != c.ledgerID:
		c.fail("gate owner", fmt.Errorf("--gate: it serves another ledger (%s, not %s): give each cluster a prefix of its own with ?prefix=…", owner, c.ledgerID))
	default:
		c.fine("gate owner", "the ledger %s", owner)
	}
}

// redis tells what one server is, and which guarantee its settings cost.
func (c *checkup) redis(f *redis.Facts) {
	name := "gate " + f.Addr
	memory := "no maxmemory: it grows until the machine is full"
	if f.MaxMemory > 0 {
		memory = fmt.Sprintf("%d of %d MiB in use", f.Memory>>20, f.MaxMemory>>20)
	}
	c.fine(name, "Redis %s, %s, %s, %s, maxmemory-policy %s", f.Version, f.Mode, map[bool]string{true: "replica", false: "master"}[f.Role != "master"], memory, f.Policy)
	if f.Policy != "noeviction" { // of a replica; a master's is refused
		c.warn(name+" eviction", "maxmemory-policy is %s: as a master, this server may drop what it knows of a sale; CONFIG SET maxmemory-policy noeviction", f.Policy)
	}
	switch {
	case f.AppendOnly && f.Fsync == "always":
		c.fine(name+" persistence", "appendonly, appendfsync always: what it acknowledged survives its restart, and a power loss")
	case f.AppendOnly:
		c.fine(name+" persistence", "appendonly, appendfsync %s: a power loss takes about a second; of sales with ack accepted, what was not recorded yet is revoked then", orUnknown(f.Fsync))
	default:
		c.warn(name+" persistence", "appendonly is off: its restart forgets every sale, which is then built anew from the ledger; of sales with ack accepted or replicated, what was not recorded yet is revoked. recorded loses nothing")
	}
	if f.Role == "master" {
		c.replicas(name, f.Replicas)
	}
	c.skew(name+" clock", "it", f.Skew, f.Trip/2)
}

func (c *checkup) replicas(name string, n int) {
	if n == 0 {
		c.warn(name+" replicas", "none: while this server is away nothing is sold, and sales with ack replicated wait until they are recorded")
		return
	}
	c.fine(name+" replicas", "%d connected; replication is asynchronous: after a failover the sale is built anew from the ledger, and of sales with ack accepted, what was not recorded yet may be revoked", n)
}

func orUnknown(setting string) string {
	if setting == "" {
		return "unknown"
	}
	return setting
}
