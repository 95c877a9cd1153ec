package report

import (
	"fmt"
	"slices"
	"strings"

	"rushgate/lab"
)

// Settings is the plan in words.
func (p *page) Settings() []labelled {
	plan := &p.Plan
	return []labelled{
		{"Units", grouped(plan.Stock)},
		{"Buyers", grouped(plan.Buyers)},
		{"Served at the same time", grouped(plan.Connections)},
		{"A buyer hesitates, at most", plan.Think.String()},
		{"A sale lasts, at most", plan.Duration.String()},
		{"Sellers stand still", yes(plan.Pause)},
		{"Sellers crash", yes(plan.Crash)},
		{"Redis fails over", yes(plan.Failover)},
		{"An operator acts", yes(plan.Admin)},
	}
}

// Provenance is where the numbers are from.
func (p *page) Provenance() []labelled {
	var all []labelled
	add := func(label, text string) {
		if text != "" {
			all = append(all, labelled{label, text})
		}
	}
	if !p.Made.IsZero() {
		add("Made", p.Made.UTC().Format("2 January 2006, 15:04 UTC"))
	}
	add("Rushgate", p.Version)
	add("Hardware", p.Hardware)
	if p.Seconds > 0 {
		add("The run took", fmt.Sprintf("%.0f s", p.Seconds))
	}
	return all
}

// Command repeats the run.
func (r *Report) Command() string {
	p := &r.Plan
	var b strings.Builder
	b.WriteString("rushgate lab")
	all := lab.Names()
	var names []string
	for i := range r.Ways {
		if name := r.Ways[i].Name; slices.Contains(all, name) { // what is copied to a shell is ours
			names = append(names, name)
		}
	}
	if len(names) > 0 && len(names) < len(all) && !slices.Equal(names, lab.Usual()) {
		fmt.Fprintf(&b, " --strategy %s", strings.Join(names, ","))
	}
	fmt.Fprintf(&b, " --stock %d --buyers %d --connections %d --think %s --duration %s", p.Stock, p.Buyers, p.Connections, p.Think, p.Duration)
	for _, sale := range []struct {
		name string
		on   bool
	}{{"crash", p.Crash}, {"pause", p.Pause}, {"failover", p.Failover}, {"admin", p.Admin}} {
		if !sale.on {
			b.WriteString(" --no-" + sale.name)
		}
	}
	return b.String() + " --out lab.html"
}

// Date is the day of the run, for the title.
func (p *page) Date() string {
	if p.Made.IsZero() {
		return ""
	}
	return p.Made.UTC().Format("2 January 2006")
}

// StockText and BuyersText are the plan's numbers, for sentences.
func (p *page) StockText() string       { return grouped(p.Plan.Stock) }
func (p *page) BuyersText() string      { return grouped(p.Plan.Buyers) }
func (p *page) ConnectionsText() string { return grouped(p.Plan.Connections) }
