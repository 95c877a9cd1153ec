package report

import (
	"fmt"
	"slices"

	"rushgate/lab"
	"rushgate/lab/trial"
)

// way is one way, as the page shows it.
type way struct {
	*trial.Outcome
	Number   int // in the report
	Family   int // its number, for choosing
	Grade    grade
	Findings []finding // one for each check
}

// family is the ways of one family, in the order of the report.
type family struct {
	Number int
	Name   lab.Family
	Ways   []*way
}

// ways judges every way.
func (r *Report) ways(checks []check) []*way {
	var all []*way
	for i := range r.Ways {
		w := &way{Outcome: &r.Ways[i], Number: i, Grade: untried}
		for _, c := range checks {
			f := c.see(w.Outcome)
			w.Findings = append(w.Findings, f)
			w.Grade = w.Grade.worse(f.Grade)
		}
		// What was not tried to the end is not known to be fine.
		if w.Problem != "" && w.Grade == fine {
			w.Grade = untried
		}
		all = append(all, w)
	}
	return all
}

// families sorts ways by family, in the order in which families appear.
func families(ways []*way) []family {
	var all []family
	for _, w := range ways {
		i := slices.IndexFunc(all, func(f family) bool { return f.Name == w.Outcome.Family })
		if i < 0 {
			i = len(all)
			all = append(all, family{Number: i, Name: w.Outcome.Family})
		}
		w.Family = i
		all[i].Ways = append(all[i].Ways, w)
	}
	return all
}

// Kept says where orders are when their buyers hear of them.
func (w *way) Kept() string {
	if w.Durable {
		return "on disk"
	}
	return "in memory"
}

// Withstands lists what the way is known to withstand, or not to.
func (w *way) Withstands(kept bool) []string {
	var all []string
	type promise struct {
		kept bool
		what string
	}
	promises := []promise{
		{w.Promises.NeverOversells, "a rush"},
		{w.Promises.OncePerUser, "two clicks at the same moment"},
		{w.Promises.SurvivesPause, "a seller that stands still"},
		{w.Promises.SurvivesCrash, "a seller that crashes"},
		{w.Promises.ObeysAdmin, "an operator in the middle of the sale"},
	}
	if w.Failover != nil { // others have nothing that could
		promises = append(promises, promise{w.Promises.SurvivesFailover, "a Redis that fails over"})
	}
	for _, p := range promises {
		if p.kept == kept {
			all = append(all, p.what)
		}
	}
	return all
}

// Rate, and so on, are the numbers of the rush in words.
func (w *way) Rate() string       { return perSecond(w.ClaimsPerSecond) }
func (w *way) Refusals() string   { return nonNull(w.RefusalsPerSecond, perSecond) }
func (w *way) Statements() string { return nonNull(w.Commands, average) }
func (w *way) Trips() string      { return nonNull(w.RoundTrips, average) }
func (w *way) Median() string     { return duration(w.P50) }
func (w *way) Slow() string       { return duration(w.P99) }
func (w *way) Slowest() string    { return duration(w.P999) }
func (w *way) Took() string       { return duration(w.Speed.Seconds * 1000) }

// Timed: somebody got one, so there is something to measure.
func (w *way) Timed() bool { return w.Granted > 0 && w.P999 > 0 }

// Waits is the whole distribution: how many had their answer by when.
func (w *way) Waits() (all []labelled) {
	for _, p := range w.Curve {
		all = append(all, labelled{percentName(p.Percent), duration(p.Ms)})
	}
	return all
}

type labelled struct{ Label, Text string }

func percentName(p float64) string {
	switch p {
	case 0:
		return "fastest"
	case 100:
		return "slowest"
	}
	return percent(p) + " %"
}

// pile is the ways of one grade.
type pile struct {
	Grade       grade
	Title, Help string
	Ways        []*way
}

// tally sorts ways by grade, the best first.
func tally(ways []*way) []pile {
	all := []pile{
		{Grade: fine, Title: "held", Help: "Sold no more than there was, once per person, and lost nothing, whatever happened."},
		{Grade: weak, Title: "safe, but weak", Help: "Wronged nobody, but turned buyers away or left units unsold."},
		{Grade: broken, Title: "broke", Help: "Sold what did not exist, gave one person two, lost something, or did not obey."},
		{Grade: untried, Title: "not tried to the end", Help: "What was seen until then was fine. That is not an answer."},
	}
	for _, w := range ways {
		i := slices.IndexFunc(all, func(p pile) bool { return p.Grade == w.Grade })
		all[i].Ways = append(all[i].Ways, w)
	}
	return slices.DeleteFunc(all, func(p pile) bool { return len(p.Ways) == 0 })
}

// Fastest says who was fastest among those that held, and was therefore fast at
// something worth doing: memory and disk apart.
func (p *page) Fastest() []string {
	if len(p.Tally) == 0 || p.Tally[0].Grade != fine || len(p.Tally[0].Ways) < 2 {
		return nil
	}
	var all []string
	for _, durable := range []bool{false, true} {
		var best *way
		for _, w := range p.Tally[0].Ways {
			if w.Durable == durable && w.Timed() && (best == nil || w.ClaimsPerSecond > best.ClaimsPerSecond) {
				best = w
			}
		}
		if best != nil {
			all = append(all, fmt.Sprintf("Fastest that held, with orders %s: %s, %s claims/s.", best.Kept(), best.Title, best.Rate()))
		}
	}
	return all
}
