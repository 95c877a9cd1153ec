package report_test

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"golang.org/x/net/html"

	"rushgate/lab"
	"rushgate/lab/report"
	"rushgate/lab/trial"
)

func number(v float64) *float64 { return &v }

// sample is a report with ways of all kinds: one that held, one that is weak, one
// that broke, one whose server went away, and one that was never tried.
func sample() *report.Report {
	plan := trial.Defaults()
	return &report.Report{
		Made: time.Date(2026, 11, 21, 18, 31, 0, 0, time.UTC), Version: "0.4.0", Hardware: "two cores", Seconds: 258,
		Plan: plan, Partial: true, Notes: []string{"ways on mariadb are left out: mariadbd is not installed"},
		Ways: []trial.Outcome{exact("redis-lua", lab.Counters, 22594), turnsAway(), oversells(), brokeOff(), neverTried(), exact("rushgate-memory-sqlite", lab.Ours, 4612)},
	}
}

func exact(name string, family lab.Family, rate float64) trial.Outcome {
	books := func(n int) trial.Books { return trial.Books{Total: n, Granted: n, Orders: n, Finished: true} }
	small, lost := books(250), 0
	return trial.Outcome{
		Name: name, Family: family, Title: "title of " + name, Why: "why " + name + " holds", Durable: family == lab.Ours,
		Promises: lab.Promises{NeverOversells: true, OncePerUser: true, SurvivesPause: true, SurvivesCrash: true, SurvivesFailover: true, ObeysAdmin: true},
		Books:    books(1000), Speed: speed(rate), Pause: &small, Crash: &small, Failover: &small, LostAfterCrash: &lost,
		Admin:   &trial.Admin{Books: books(700), Restocked: 500, Cleared: 800, Obeyed: true},
		Verdict: "exact",
	}
}

func speed(rate float64) trial.Speed {
	s := trial.Speed{
		Seconds: 1000 / rate, ClaimsPerSecond: rate, RefusalsPerSecond: number(2 * rate),
		P50: 3000 / rate, P99: 9000 / rate, P999: 20000 / rate, Commands: number(3.5), RoundTrips: number(1.02),
	}
	for i, p := range []float64{0, 10, 25, 50, 75, 90, 95, 99, 99.5, 99.9, 100} {
		s.Curve = append(s.Curve, trial.Point{Percent: p, Ms: 1000 / rate * float64(1+2*i)})
	}
	return s
}

func turnsAway() trial.Outcome {
	o := exact("redis-watch", lab.Counters, 793)
	o.Granted, o.Orders, o.Left, o.Undersold, o.Contended = 762, 762, 238, 238, 4659
	o.Verdict = "238 left unsold, turned 4659 away with stock left"
	return o
}

func oversells() trial.Outcome {
	o := exact("redis-read-write", lab.Counters, 9549)
	o.Granted, o.Orders, o.Left, o.Oversold, o.Phantom, o.Duplicates = 5482, 5482, 795, 4482, 795, 482
	o.Pause = &trial.Books{Total: 250, Granted: 1400, Orders: 1400, Left: 105, Oversold: 1150, Phantom: 105, Duplicates: 100}
	o.Failover = &trial.Books{Total: 250, Granted: 470, Orders: 250, Oversold: 220, OrdersLost: 220, Finished: true}
	o.Crash = &trial.Books{Total: 250, Granted: 240, Orders: 230, OrdersLost: 10, Stranded: 3, Finished: true}
	o.Admin = &trial.Admin{Books: trial.Books{Total: 700}, Restocked: 500, Cleared: 800, After: 31}
	o.Verdict = "oversold 4482, 482 users with two"
	return o
}

// brokeOff had its rush; then its server went away. Nobody counted.
func brokeOff() trial.Outcome {
	o := exact("sql-version-postgres", lab.SQL, 270)
	o.Pause, o.Crash, o.Failover, o.Admin, o.LostAfterCrash = nil, nil, nil, nil, nil
	o.Commands, o.RoundTrips, o.RefusalsPerSecond = nil, nil, nil
	o.Problem = "the database: connection refused"
	return o
}

func neverTried() trial.Outcome {
	return trial.Outcome{
		Name: "sql-unique-mariadb", Family: lab.SQL, Title: "unique index per user", Why: "The database refuses.", Durable: true,
		Verdict: "not tried", Problem: "mariadb is away",
	}
}

// reports are reports of all sizes.
func reports() map[string]*report.Report {
	nothing, one, many := &report.Report{}, sample(), sample()
	one.Ways, one.Partial, one.Notes = one.Ways[:1], false, nil
	many.Ways = nil
	for n := range 30 {
		family := []lab.Family{lab.Counters, lab.Locks, lab.SQL, lab.Ours}[n*4/30]
		many.Ways = append(many.Ways, exact(fmt.Sprintf("way-%d", n), family, 8+float64(n*n)*25))
	}
	bare := sample()
	bare.Plan.Crash, bare.Plan.Pause, bare.Plan.Failover, bare.Plan.Admin = false, false, false, false
	interrupted, leftOut := sample(), sample()
	interrupted.Notes, leftOut.Partial = nil, false
	return map[string]*report.Report{
		"nothing": nothing, "one": one, "many": many, "sample": sample(), "bare": bare,
		"interrupted": interrupted, "left out": leftOut,
	}
}

func write(t testing.TB, r *report.Report) string {
	t.Helper()
	var b bytes.Buffer
	if err := r.WritePage(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func parse(t testing.TB, page string) *html.Node {
	t.Helper()
	root, err := html.Parse(bytes.NewReader([]byte(page)))
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// elements returns the elements of these names, or all.
func elements(root *html.Node, names ...string) (all []*html.Node) {
	for n := range root.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		wanted := len(names) == 0
		for _, name := range names {
			wanted = wanted || n.Data == name
		}
		if wanted {
			all = append(all, n)
		}
	}
	return all
}

func attribute(n *html.Node, key string) (string, bool) {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val, true
		}
	}
	return "", false
}

// text is what a reader sees of an element.
func text(root *html.Node) string {
	var b bytes.Buffer
	for n := range root.Descendants() {
		if n.Type == html.TextNode && n.Parent.Data != "style" && n.Parent.Data != "script" {
			b.WriteString(n.Data)
		}
	}
	return b.String()
}
