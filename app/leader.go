package app

import (
	"context"

	"rushgate"
	"rushgate/gate/memory"
)

// The gate in memory and a ledger on a server: one node leads, the others stand
// by. The leader writes under its lease, which the ledger checks in every
// transaction: one that was paused and wakes up cannot record anything.

// leader makes the rota of a node that sells alone or not at all.
func (p *Program) leader(s store, k *keeper, mine note) *rota {
	r := &rota{keeper: k, server: p.handler, log: p.log}
	r.enlist = func(ctx context.Context) (*tenure, string, error) {
		t, other, err := k.take(ctx, leaseLeader)
		if err != nil {
			return nil, "", ofLedger(err)
		}
		if err := agree(ctx, s.leases, mine, false); err != nil {
			if t != nil {
				t.end()
			}
			return nil, "", err
		}
		return t, "standby: " + readNote(other.Note).who() + " leads", nil
	}
	r.equip = func(_ context.Context, t *tenure) (rushgate.Config, func() error, error) {
		gate := memory.New()
		return p.engine(s.leases.Under(t.lease), gate), gate.Close, nil
	}
	return r
}
