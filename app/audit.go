package app

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"rushgate"
	"rushgate/gate/memory"
)

// Audit checks the invariants of a sale against its ledger. It only reads; nodes
// may run at the same time. Beside what the rows show, it builds a gate from
// them, as a restart would, and looks whether that gate would have exactly the
// free units that the ledger says. A gate in Redis is compared with the ledger,
// too, and so is its journal.
func Audit(ctx context.Context, cfg Config, sale string) (*rushgate.Report, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	ledger, err := readLedger(ctx, &cfg)
	if err != nil {
		return nil, err
	}
	report, err := auditLedger(ctx, ledger, sale)
	if err == nil && cfg.shared() {
		err = auditGate(ctx, &cfg, ledger, report)
	}
	return report, errors.Join(err, ledger.Close())
}

// auditGate compares the gate with the ledger. It does not say to which ledger
// it belongs: so nothing is written there.
func auditGate(ctx context.Context, cfg *Config, ledger rushgate.Ledger, report *rushgate.Report) error {
	gate, err := readGate(ctx, cfg)
	if err != nil {
		return err
	}
	return errors.Join(rushgate.AuditGate(ctx, gate, ledger, report), gate.Close())
}

func auditLedger(ctx context.Context, ledger rushgate.Ledger, sale string) (*rushgate.Report, error) {
	tally, err := ledger.Tally(ctx, sale)
	if rushgate.CodeOf(err) == rushgate.NotFound {
		return nil, unknownSale(ctx, ledger, sale)
	}
	if err != nil {
		return nil, err
	}
	report := rushgate.AuditLedger(tally, time.Now())
	check, err := rebuildGate(ctx, ledger, sale)
	if err != nil {
		return nil, err
	}
	report.Checks = append(report.Checks, check)
	report.OK = report.OK && check.OK
	return report, nil
}

// rebuildGate compares a gate made from the ledger with the stock rows of the
// same moment.
func rebuildGate(ctx context.Context, ledger rushgate.Ledger, sale string) (rushgate.Check, error) {
	check := rushgate.Check{Name: "gate_rebuilds", OK: true}
	gate := memory.New()
	defer gate.Close() // a gate in memory has nothing that can fail
	var stock []rushgate.Stock
	err := ledger.Snapshot(ctx, sale, func(s rushgate.Snapshot) error {
		stock = s.Stock
		return gate.Load(ctx, s)
	})
	if err != nil {
		return check, fmt.Errorf("the gate cannot be rebuilt from the ledger: %w", err)
	}
	counts, err := gate.Count(ctx, sale)
	if err != nil {
		return check, err
	}
	free := map[string]int64{}
	for _, c := range counts {
		free[c.Item] = c.Free
	}
	var sum int64
	var wrong []string
	for _, s := range stock {
		sum += free[s.Item]
		if want := s.Total - s.Taken; free[s.Item] != want {
			wrong = append(wrong, fmt.Sprintf("%s: free %d, and total - taken is %d", s.Item, free[s.Item], want))
		}
	}
	check.OK = len(wrong) == 0
	check.Detail = fmt.Sprintf("a gate made from the ledger has %d units free in %d items", sum, len(stock))
	if !check.OK {
		check.Detail += ": " + strings.Join(wrong[:min(len(wrong), 10)], "; ")
	}
	return check, nil
}

// unknownSale says which sales there are.
func unknownSale(ctx context.Context, ledger rushgate.Ledger, sale string) error {
	sales, err := ledger.Sales(ctx)
	if err != nil {
		return err
	}
	if len(sales) == 0 {
		return fmt.Errorf("there is no sale %s: this ledger has none at all", sale)
	}
	ids := make([]string, 0, 10)
	for i := range sales[:min(len(sales), 10)] {
		ids = append(ids, sales[i].ID)
	}
	return fmt.Errorf("there is no sale %s: this ledger has %s", sale, strings.Join(ids, ", "))
}
