package app

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"rushgate"
)

// The gate in Redis and a ledger on a server: every node sells. Each has a number
// of its own while its lease lasts, so that no two make the same ids. A node
// that loses its number stops, and joins again under another one.

// member makes the rota of a node that sells beside others.
func (p *Program) member(s store, k *keeper, mine note) *rota {
	r := &rota{keeper: k, server: p.handler, log: p.log}
	r.enlist = func(ctx context.Context) (*tenure, string, error) {
		t, err := k.takeNumber(ctx)
		if err != nil {
			return nil, "", err
		}
		if err := agree(ctx, s.leases, mine, true); err != nil {
			t.end()
			return nil, "", err
		}
		return t, "", nil
	}
	r.equip = func(ctx context.Context, t *tenure) (rushgate.Config, func() error, error) {
		number, err := numberOf(t.lease)
		if err != nil {
			return rushgate.Config{}, nil, err
		}
		gate, err := openGate(ctx, &p.cfg, s.id, p.log, p.metrics)
		if err != nil {
			return rushgate.Config{}, nil, err
		}
		duty := beginDuty(k, func(ctx context.Context) error { return reach(ctx, gate) })
		cfg := p.engine(s.Ledger, gate)
		cfg.Node, cfg.Chores = number, duty.mine.Load
		return cfg, func() error { duty.end(); return gate.Close() }, nil
	}
	return r
}

var errFull = fmt.Errorf("all %d numbers of nodes are taken: stop one that sells from this ledger first", rushgate.MaxNode+1)

// takeNumber takes the lowest number that no node has.
func (k *keeper) takeNumber(ctx context.Context) (*tenure, error) {
	held, err := k.leases.Held(ctx, leaseNode)
	if err != nil {
		return nil, ofLedger(err)
	}
	taken := make(map[string]bool, len(held))
	for _, l := range held {
		taken[l.Name] = true
	}
	for n := range rushgate.MaxNode + 1 {
		name := leaseNode + strconv.Itoa(n)
		if taken[name] {
			continue
		}
		if t, _, err := k.take(ctx, name); t != nil || err != nil {
			return t, ofLedger(err)
		}
	}
	return nil, errFull
}

// numberOf is the number that the lease of a node gives it.
func numberOf(l rushgate.Lease) (int, error) {
	n, err := strconv.Atoi(strings.TrimPrefix(l.Name, leaseNode))
	if err != nil || n < 0 || n > rushgate.MaxNode {
		return 0, errors.New("the lease " + l.Name + " is not that of a node")
	}
	return n, nil
}
