package rushgate

import (
	"context"
	"fmt"
	"sort"
	"strings"
	"time"
)

// Report is the result of an audit.
type Report struct {
	Sale   string
	OK     bool
	At     time.Time
	Checks []Check
	Healed int64 // units that were stranded and are free again
}

// Check is one invariant, looked at.
type Check struct {
	Name   string
	OK     bool
	Detail string // the figures, and what is wrong when it is not OK
}

func (r *Report) add(name string, ok bool, format string, args ...any) {
	r.Checks = append(r.Checks, Check{Name: name, OK: ok, Detail: fmt.Sprintf(format, args...)})
	r.OK = r.OK && ok
}

// Failed returns the checks that are not OK.
func (r *Report) Failed() []Check {
	var failed []Check
	for _, c := range r.Checks {
		if !c.OK {
			failed = append(failed, c)
		}
	}
	return failed
}

// overdueGrace is how long a claim may be held past its time before the
// auditor says that nobody sweeps.
const overdueGrace = 30 * time.Second

// AuditLedger checks the invariants of a sale that the ledger alone can show.
func AuditLedger(t *Tally, now time.Time) *Report {
	r := &Report{Sale: t.Sale.ID, OK: true, At: now}
	r.oversell(t)
	r.limits(t)
	r.history(t)
	late := time.Duration(0)
	if !t.OldestDue.IsZero() {
		late = now.Sub(t.OldestDue)
	}
	r.add("swept", late <= overdueGrace, "%d held claims are past their time, the oldest by %s", t.Overdue, max(late, 0).Truncate(time.Millisecond))
	return r
}

func (r *Report) oversell(t *Tally) {
	var total, counted int64
	var over, rows []string
	for _, it := range t.Items {
		n := it.CountedHeld + it.CountedConfirmed
		total, counted = total+it.Total, counted+n
		if n > it.Total {
			over = append(over, fmt.Sprintf("%s: %d of %d", it.Item, n, it.Total))
		}
		if n != it.Taken || it.CountedConfirmed != it.Confirmed {
			rows = append(rows, fmt.Sprintf("%s: row says taken %d, confirmed %d; claims say %d, %d",
				it.Item, it.Taken, it.Confirmed, n, it.CountedConfirmed))
		}
	}
	r.add("never_oversold", len(over) == 0, "%d units in claims of %d in all%s", counted, total, list(over))
	r.add("stock_rows_match_claims", len(rows) == 0, "%d items%s", len(t.Items), list(rows))
}

func (r *Report) limits(t *Tally) {
	var over []string
	for user, units := range t.OverLimit {
		over = append(over, fmt.Sprintf("%s: %d", user, units))
	}
	sort.Strings(over)
	limit := "no limit"
	if t.Sale.PerUser > 0 {
		limit = fmt.Sprintf("limit %d", t.Sale.PerUser)
	}
	r.add("limit_per_user", len(over) == 0, "%d users, %s%s", t.Users, limit, list(over))
	r.add("slots", t.BadSlots == 0, "%d claims with a wrong slot", t.BadSlots)
}

func (r *Report) history(t *Tally) {
	var events int64
	for _, n := range t.Events {
		events += n
	}
	r.add("events_without_gaps", t.SeqGaps == 0 && events == t.LastSeq, "%d events, numbered to %d, %d gaps", events, t.LastSeq, t.SeqGaps)
	r.add("one_final_state_each", t.BadHistory == 0, "held %d, confirmed %d, released %d, expired %d, revoked %d; %d claims with a wrong history",
		t.Claims[Held], t.Claims[Confirmed], t.Claims[Released], t.Claims[ExpiredState], t.Claims[Revoked], t.BadHistory)
}

func list(wrong []string) string {
	if len(wrong) == 0 {
		return ""
	}
	if len(wrong) > 10 {
		wrong = append(wrong[:10:10], "…")
	}
	return ": " + strings.Join(wrong, "; ")
}

// Audit checks every invariant of a sale against gate and ledger. Units that
// the gate lost are given back, and the report says so. A gate that is more
// generous than the ledger is a failed check; it is mended too.
func (s *Service) Audit(ctx context.Context, id string) (*Report, error) {
	if s.sale(ctx, id) == nil {
		return nil, unknownSale(id)
	}
	tally, err := s.ledger.Tally(ctx, id)
	if err != nil {
		return nil, s.asError(err)
	}
	return s.compare(ctx, AuditLedger(tally, s.now()))
}

// compare adds to a report what only gate and ledger together can show.
func (s *Service) compare(ctx context.Context, r *Report) (*Report, error) {
	if s.node != nil {
		if err := s.node.compare(ctx, r); err != nil {
			return nil, err
		}
	} else if err := s.desk.run(ctx, &compareErrand{countErrand: countErrand{sale: r.Sale}, report: r}); err != nil {
		return nil, err
	}
	s.observe.Audited(r)
	for _, c := range r.Failed() {
		s.log.Error("audit", "sale", r.Sale, "check", c.Name, "detail", c.Detail)
	}
	if r.Healed > 0 {
		s.log.Warn("audit: stranded units were given back", "sale", r.Sale, "units", r.Healed)
	}
	return r, nil
}

// compareErrand holds gate and ledger against each other while both are at
// rest, and rebuilds the gate when they differ.
type compareErrand struct {
	countErrand
	report *Report
}

func (c *compareErrand) enter(b *batch) error {
	if err := c.countErrand.enter(b); err != nil {
		return err
	}
	var generous, stranded []string
	var units, lost, free int64
	for _, st := range c.stock {
		n, inLedger := c.counts[st.Item].Free, st.Total-st.Taken
		free += n
		switch {
		case n > inLedger:
			generous = append(generous, mismatch(st, n))
			units += n - inLedger
		case n < inLedger:
			stranded = append(stranded, mismatch(st, n))
			lost += inLedger - n
		}
	}
	c.report.add("gate_not_more_generous", units == 0, "%d units free at the gate, %d too many%s", free, units, list(generous))
	if units == 0 && lost == 0 {
		c.report.add("nothing_stranded", true, "total = free + held + confirmed for %d items", len(c.stock))
		return nil
	}
	if err := b.desk.rebuild(context.Background(), c.sale); err != nil {
		c.report.add("nothing_stranded", false, "%d units stranded; the gate could not be rebuilt: %v%s", lost, err, list(stranded))
		return nil
	}
	c.report.Healed = lost
	c.report.add("nothing_stranded", true, "%d units were stranded and are free again%s", lost, list(stranded))
	return nil
}

// mismatch words how gate and ledger differ about an item; free units that the
// gate does not know of are stranded, units that only the gate has are worse.
func mismatch(st Stock, free int64) string {
	return fmt.Sprintf("%s: free %d at the gate, %d in the ledger", st.Item, free, st.Total-st.Taken)
}

// auditShare is the part of its time that the auditor may spend counting the
// rows of one sale: one in so many. A sale of millions is counted less often;
// gate and ledger are compared at every pass, which costs next to nothing.
const auditShare = 20

// audited is what the auditor remembers of a sale.
type audited struct {
	changes uint64    // of the sale, when it was counted last
	next    time.Time // when its rows may be counted again
}

// auditAll looks at every sale now and then, until ctx ends.
func (s *Service) auditAll(ctx context.Context, cfg Config) {
	tick := time.NewTicker(cfg.AuditEvery)
	defer tick.Stop()
	seen := map[string]audited{}
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.desk.failed:
			return
		case <-tick.C:
		}
		if !cfg.Chores() {
			continue
		}
		for _, sale := range s.catalog.all() {
			if err := s.auditOne(ctx, sale.ID, seen); err != nil && ctx.Err() == nil {
				s.log.Warn("a sale could not be audited; trying again", "sale", sale.ID, "error", err)
			}
		}
	}
}

// auditOne audits a sale that has changed, or compares gate and ledger of one
// that has not, or whose rows were counted just now.
func (s *Service) auditOne(ctx context.Context, sale string, seen map[string]audited) error {
	changes, began := s.watch.changes(sale), time.Now()
	if last, ok := seen[sale]; ok && (last.changes == changes || began.Before(last.next)) {
		_, err := s.compare(ctx, &Report{Sale: sale, OK: true, At: s.now()})
		return err
	}
	r, err := s.Audit(ctx, sale)
	if delete(seen, sale); err == nil && r.OK { // a failed audit is repeated at every pass
		seen[sale] = audited{changes: changes, next: time.Now().Add(auditShare * time.Since(began))}
	}
	return err
}
