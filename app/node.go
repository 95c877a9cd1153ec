package app

import (
	"crypto/rand"
	"fmt"
	"os"
	"time"

	"rushgate"
)

// Bounds of what says how a node gets on with others.
const (
	minLease, maxLease = 500 * time.Millisecond, time.Minute
	minAdopt, maxAdopt = 100 * time.Millisecond, 10 * time.Minute
	maxDrain           = 10 * time.Minute
	maxNode            = 64 // bytes of a node's name
)

func (c *Config) validateNode() error {
	switch {
	case c.Lease < minLease || c.Lease > maxLease:
		return fmt.Errorf("--lease %s: must be %s to %s", c.Lease, minLease, maxLease)
	case c.AdoptAfter < minAdopt || c.AdoptAfter > maxAdopt:
		return fmt.Errorf("--adopt-after %s: must be %s to %s", c.AdoptAfter, minAdopt, maxAdopt)
	case c.Drain < 0 || c.Drain > maxDrain:
		return fmt.Errorf("--drain %s: must be 0 to %s", c.Drain, maxDrain)
	case c.Node != "" && (len(c.Node) > maxNode || !visible(c.Node)):
		return fmt.Errorf("--node must be 1 to %d visible ASCII characters without spaces", maxNode)
	}
	return nil
}

// nodeName is what others call this node.
func (c *Config) nodeName() string {
	if c.Node != "" {
		return c.Node
	}
	if host, err := os.Hostname(); err == nil && visible(host) && host != "" {
		return host[:min(len(host), maxNode)]
	}
	return "node"
}

// openCluster starts what sells when the ledger is on a server.
func (p *Program) openCluster(s store) *rota {
	mine := note{Name: p.cfg.nodeName(), URL: p.URL(), Version: version(), Protocol: Protocol, Gate: place(p.cfg.Gate)}
	k := &keeper{leases: s.leases, ttl: p.cfg.Lease, holder: mine.Name + "/" + rand.Text(), note: mine.String(), log: p.log}
	if p.cfg.shared() {
		return p.member(s, k, mine)
	}
	return p.leader(s, k, mine)
}

// engine is what every service of this process has in common.
func (p *Program) engine(ledger rushgate.Ledger, gate rushgate.Gate) rushgate.Config {
	return rushgate.Config{Gate: gate, Ledger: ledger, Log: p.log, Observe: p.metrics,
		QueueLimit: p.cfg.Queue, BatchLimit: min(p.cfg.Queue, 2048), AuditEvery: p.cfg.AuditEvery, AdoptAfter: p.cfg.AdoptAfter}
}
