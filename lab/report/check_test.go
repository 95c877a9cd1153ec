package report

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"rushgate/lab/trial"
)

// judge returns what the checks see, and the grade.
func judge(t *testing.T, change func(*trial.Outcome)) (map[string]finding, grade) {
	t.Helper()
	books := trial.Books{Total: 100, Granted: 100, Orders: 100, Finished: true}
	paused, crashed, failedOver := books, books, books
	o := trial.Outcome{Books: books, Pause: &paused, Crash: &crashed, Failover: &failedOver, Admin: &trial.Admin{Books: books, Obeyed: true}}
	change(&o)
	r := &Report{Plan: trial.Defaults(), Ways: []trial.Outcome{o}}
	checks := r.checks()
	w := r.ways(checks)[0]
	seen := map[string]finding{}
	for i, c := range checks {
		if w.Findings[i].Grade != fine {
			seen[c.Head] = w.Findings[i]
		}
	}
	return seen, w.Grade
}

func TestEveryFaultIsSeen(t *testing.T) {
	type seen = map[string]finding
	for name, c := range map[string]struct {
		change func(*trial.Outcome)
		seen   seen
		grade  grade
	}{
		"nothing":     {func(*trial.Outcome) {}, seen{}, fine},
		"oversold":    {func(o *trial.Outcome) { o.Oversold = 1234 }, seen{"Oversold": {broken, "1,234"}}, broken},
		"phantom":     {func(o *trial.Outcome) { o.Phantom = 3 }, seen{"Oversold": {broken, "3 about to be"}}, broken},
		"two each":    {func(o *trial.Outcome) { o.Duplicates = 2 }, seen{"Two each": {broken, "2"}}, broken},
		"turned away": {func(o *trial.Outcome) { o.Contended = 7 }, seen{"Turned away": {weak, "7"}}, weak},
		"unsold":      {func(o *trial.Outcome) { o.Undersold = 8 }, seen{"Left unsold": {weak, "8"}}, weak},
		"stranded":    {func(o *trial.Outcome) { o.Stranded, o.Undersold = 9, 9 }, seen{"Left unsold": {broken, "9 lost"}}, broken},
		"slow":        {func(o *trial.Outcome) { o.Finished = false }, seen{"Left unsold": {untried, "time over"}}, fine},
		"pause":       {func(o *trial.Outcome) { o.Pause.Oversold, o.Pause.Phantom = 1, 2 }, seen{"Seller stood still": {broken, "3 oversold"}}, broken},
		"pause two":   {func(o *trial.Outcome) { o.Pause.Duplicates = 2 }, seen{"Seller stood still": {broken, "2 with two"}}, broken},
		"crash":       {func(o *trial.Outcome) { o.Crash.OrdersLost, o.Crash.Stranded = 1, 1 }, seen{"Seller crashed": {broken, "2 lost"}}, broken},
		"crash weak":  {func(o *trial.Outcome) { o.Crash.Undersold = 4 }, seen{"Seller crashed": {weak, "4 unsold"}}, weak},
		"failover":    {func(o *trial.Outcome) { o.Failover.Oversold, o.Failover.OrdersLost = 4, 4 }, seen{"Redis failed over": {broken, "4 oversold, 4 lost"}}, broken},
		"no Redis":    {func(o *trial.Outcome) { o.Failover = nil }, seen{"Redis failed over": {untried, "no Redis"}}, fine},
		"late":        {func(o *trial.Outcome) { o.Admin.Obeyed, o.Admin.After = false, 5 }, seen{"Operator obeyed": {broken, "5 too late"}}, broken},
		"still there": {func(o *trial.Outcome) { o.Admin.Obeyed, o.Admin.Left = false, 6 }, seen{"Operator obeyed": {broken, "6 still on offer"}}, broken},
		"no reason":   {func(o *trial.Outcome) { o.Admin.Obeyed = false }, seen{"Operator obeyed": {broken, "no"}}, broken},
		"in any case two": {func(o *trial.Outcome) { o.Duplicates, o.Pause.Duplicates, o.Crash.Duplicates = 2, 2, 2 },
			seen{"Two each": {broken, "2"}}, broken},
		"broke off": {func(o *trial.Outcome) { o.Pause, o.Crash, o.Failover, o.Problem = nil, nil, nil, "away" },
			seen{"Seller stood still": {Grade: untried}, "Seller crashed": {Grade: untried}, "Redis failed over": {Grade: untried}}, untried},
		"broke off, and broken": {func(o *trial.Outcome) { o.Crash, o.Problem, o.Oversold = nil, "away", 1 },
			seen{"Oversold": {broken, "1"}, "Seller crashed": {Grade: untried}}, broken},
	} {
		t.Run(name, func(t *testing.T) {
			got, grade := judge(t, c.change)
			if diff := cmp.Diff(c.seen, got); diff != "" {
				t.Error(diff)
			}
			if grade != c.grade {
				t.Errorf("graded %s, not %s", grade, c.grade)
			}
		})
	}
}

func TestTheFastestOnlyAmongThoseThatHeld(t *testing.T) {
	way := func(title string, durable bool, rate float64, oversold int) trial.Outcome {
		return trial.Outcome{
			Title: title, Durable: durable, Speed: trial.Speed{ClaimsPerSecond: rate, P999: 1},
			Books: trial.Books{Total: 1, Granted: 1, Oversold: oversold, Finished: true},
		}
	}
	r := &Report{Ways: []trial.Outcome{way("wrong", false, 9000, 1), way("memory", false, 8000, 0), way("slow", true, 70, 0), way("disk", true, 700, 0)}}
	want := []string{
		"Fastest that held, with orders in memory: memory, 8,000 claims/s.",
		"Fastest that held, with orders on disk: disk, 700 claims/s.",
	}
	if diff := cmp.Diff(want, r.page().Fastest()); diff != "" {
		t.Error(diff)
	}
}
