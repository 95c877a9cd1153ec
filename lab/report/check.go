package report

import (
	"strings"

	"rushgate/lab/trial"
)

// grade is how well a way did.
type grade string

// The grades. Weak wrongs nobody who was told yes, and yet sells less than it
// could.
const (
	untried grade = "untried"
	fine    grade = "fine"
	weak    grade = "weak"
	broken  grade = "broken"
)

// worse returns the worse of two.
func (g grade) worse(than grade) grade {
	order := map[grade]int{untried: 0, fine: 1, weak: 2, broken: 3}
	if order[g] < order[than] {
		return than
	}
	return g
}

// finding is what one check saw of one way.
type finding struct {
	Grade grade
	Text  string // may be empty: then the mark says it all
}

// check is one question that is asked of every way.
type check struct {
	Head, Help string
	see        func(*trial.Outcome) finding
}

// checks are the questions that this run can answer.
func (r *Report) checks() []check {
	all := []check{
		{"Oversold", "Units sold that did not exist.", oversold},
		{"Two each", "People who got two by clicking twice.", rush(broken, func(o *trial.Outcome) int { return o.Duplicates })},
		{"Turned away", "People sent away because others were faster, while there was stock.", rush(weak, func(o *trial.Outcome) int { return o.Contended })},
		{"Left unsold", "Units that nobody got, although people had asked.", unsold},
	}
	if r.Plan.Pause {
		all = append(all, check{"Seller stood still", "Sellers were stopped for longer than a lock lasts, then went on.", paused})
	}
	if r.Plan.Crash {
		all = append(all, check{"Seller crashed", "Sellers were killed in the middle and started again.", crashed})
	}
	if r.Plan.Failover {
		all = append(all, check{"Redis failed over", "Redis was killed in the middle, and a replica that was a little behind took over. Ways without Redis have nothing that could.", failedOver})
	}
	if r.Plan.Admin {
		all = append(all, check{"Operator obeyed", "Stock was added and later cleared, in the middle of the sale.", obeys})
	}
	return all
}

// rush is a check of the sale in which nothing goes wrong.
func rush(g grade, number func(*trial.Outcome) int) func(*trial.Outcome) finding {
	return func(o *trial.Outcome) finding {
		switch n := number(o); {
		case o.Total == 0:
			return finding{Grade: untried}
		case n > 0:
			return finding{g, grouped(n)}
		}
		return finding{Grade: fine}
	}
}

func oversold(o *trial.Outcome) finding {
	f := rush(broken, func(o *trial.Outcome) int { return o.Oversold })(o)
	if f.Grade == fine && o.Phantom > 0 {
		return finding{broken, grouped(o.Phantom) + " about to be"}
	}
	return f
}

func unsold(o *trial.Outcome) finding {
	switch {
	case o.Total > 0 && !o.Finished && o.Stranded == 0:
		return finding{untried, "time over"}
	case o.Stranded > 0:
		return finding{broken, grouped(o.Stranded) + " lost"}
	}
	return rush(weak, func(o *trial.Outcome) int { return o.Undersold })(o)
}

func paused(o *trial.Outcome) finding { return suffered(o, o.Pause) }

func crashed(o *trial.Outcome) finding { return suffered(o, o.Crash) }

// failedOver: a way that came through everything and was not asked this has no
// Redis.
func failedOver(o *trial.Outcome) finding {
	if o.Failover == nil && o.Total > 0 && o.Problem == "" {
		return finding{untried, "no Redis"}
	}
	return suffered(o, o.Failover)
}

// suffered is what a disaster brought to light. Who has two already when nothing
// goes wrong is not counted again.
func suffered(o *trial.Outcome, b *trial.Books) finding {
	if b == nil {
		return finding{Grade: untried}
	}
	var seen []string
	say := func(n int, what string) {
		if n > 0 {
			seen = append(seen, grouped(n)+" "+what)
		}
	}
	say(b.Excess(), "oversold")
	say(b.Lost(), "lost")
	if o.Duplicates == 0 {
		say(b.Duplicates, "with two")
	}
	switch {
	case len(seen) > 0:
		return finding{broken, strings.Join(seen, ", ")}
	case b.Finished && b.Undersold > 0:
		return finding{weak, grouped(b.Undersold) + " unsold"}
	}
	return finding{Grade: fine}
}

func obeys(o *trial.Outcome) finding {
	a := o.Admin
	switch {
	case a == nil:
		return finding{Grade: untried}
	case a.Obeyed:
		return finding{Grade: fine}
	case a.After > 0:
		return finding{broken, grouped(a.After) + " too late"}
	case a.Oversold > 0:
		return finding{broken, grouped(a.Oversold) + " oversold"}
	case a.Stranded > 0:
		return finding{broken, grouped(a.Stranded) + " lost"}
	case a.Left != 0:
		return finding{broken, grouped(a.Left) + " still on offer"}
	}
	return finding{broken, "no"}
}
