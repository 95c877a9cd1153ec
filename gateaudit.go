package rushgate

import "context"

// AuditGate adds to a report what a shared gate, its journal and the ledger show
// together. Nodes may sell meanwhile. It changes nothing: what a node would mend
// is a failed check that says so.
func AuditGate(ctx context.Context, gate Shared, ledger Ledger, r *Report) error {
	n := &node{gate: gate, ledger: ledger}
	sale, err := ledger.Sale(ctx, r.Sale)
	if err != nil {
		return err
	}
	mark, err := gate.Mark(ctx, r.Sale)
	switch {
	case err != nil:
		return unavailable(err, "the gate cannot be reached")
	case mark == Mark{}:
		r.add("gate_knows_the_sale", false, "the gate has never heard of it, or has forgotten it: a node that runs loads it from the ledger")
		return nil
	case mark.Epoch != sale.Epoch:
		r.add("gate_knows_the_sale", false, "the gate's picture has the epoch %d, the ledger %d: a node that runs builds it anew", mark.Epoch, sale.Epoch)
		return nil
	}
	r.add("gate_knows_the_sale", true, "epoch %d, version %d, %d changes", mark.Epoch, mark.Version, mark.Seq)
	if err := n.auditJournal(ctx, r); err != nil {
		return err
	}
	d, seen, stranded, err := n.differ(ctx, r.Sale)
	switch {
	case err != nil:
		return err
	case !seen:
		r.add("gate_not_more_generous", true, "the sale never stood still: gate and ledger could not be compared at one moment")
		return nil
	}
	r.add("gate_not_more_generous", d.generous == 0, "%d units free at the gate, %d too many%s", d.free, d.generous, list(d.told))
	if stranded {
		r.add("nothing_stranded", false, "%d units are neither free, nor taken, nor in the journal; the next audit of a node gives them back%s", d.missing, list(d.told))
	} else {
		r.add("nothing_stranded", true, "total = free + held + confirmed + unsettled")
	}
	return nil
}

// auditJournal looks whether the journal is emptied: what waits in it for long is
// a claim that somebody may have been told of and that the ledger does not have.
func (n *node) auditJournal(ctx context.Context, r *Report) error {
	claims, _, err := n.gate.Orphans(ctx, r.Sale, overdueGrace, adoptLimit)
	if err != nil {
		return unavailable(err, "the gate's journal cannot be read")
	}
	st, err := n.standing(ctx, r.Sale, claims)
	if err != nil {
		return unavailable(err, "the ledger cannot be read now")
	}
	r.add("journal_is_settled", len(claims) == 0, "%d claims have waited in the journal for more than %s, %d of them are recorded; a node that runs records and settles the rest",
		len(claims), overdueGrace, len(st.ids))
	return nil
}
