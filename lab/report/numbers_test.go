package report_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"

	"rushgate/lab"
	"rushgate/lab/report"
	"rushgate/lab/trial"
)

// distinct is books in which no two numbers are the same: from first on, in the order
// of booksInOrder.
func distinct(first int) trial.Books {
	n := first - 1
	next := func() int { n++; return n }
	return trial.Books{Total: next(), Granted: next(), Orders: next(), Left: next(), Oversold: next(), Phantom: next(), Duplicates: next(),
		OrdersLost: next(), Stranded: next(), Undersold: next(), Contended: next(), Unanswered: next()}
}

// booksInOrder are the rows of the books, and how what is wrong is marked.
var booksInOrder = [][2]string{
	{"Units there were"}, {"Buyers who heard yes"}, {"Orders in the books"}, {"Stock left, by the books"}, {"Oversold", "broken"},
	{"On offer and not there", "broken"}, {"Users with two", "broken"}, {"Heard yes, not in the books", "broken"}, {"Units lost", "broken"},
	{"Undersold", "weak"}, {"Turned away with stock left", "weak"}, {"Never heard anything"},
}

// measured is an outcome in which no two numbers are the same.
func measured() trial.Outcome {
	pause, crash, failover := distinct(301), distinct(401), distinct(501)
	pause.Finished = true
	return trial.Outcome{
		Name: "redis-lua", Family: lab.Counters, Title: "a script", Books: distinct(101), Pause: &pause, Crash: &crash, Failover: &failover,
		Admin: &trial.Admin{Books: distinct(201), Restocked: 61, Cleared: 62, After: 63},
		Speed: trial.Speed{Seconds: 2, ClaimsPerSecond: 1234.6, RefusalsPerSecond: number(5678), P50: 1.5, P99: 22, P999: 333,
			Curve:    []trial.Point{{Percent: 0, Ms: 1}, {Percent: 99, Ms: 22}, {Percent: 100, Ms: 12_345}},
			Commands: number(3.5), RoundTrips: number(0.25)},
	}
}

// TestEveryNumberIsInItsPlace on the page, under its own name.
func TestEveryNumberIsInItsPlace(t *testing.T) {
	plan := trial.Defaults()
	root := parse(t, write(t, &report.Report{Plan: plan, Ways: []trial.Outcome{measured()}}))
	var got []string
	for _, e := range elements(root, "tr", "dt") {
		switch class := attributeOf(enclosing(e, "table"), "class"); {
		case e.Data == "tr" && (class == "books" || class == "lines" || class == "bars"):
			got = append(got, class+": "+cells(e))
		case e.Data == "dt" && attributeOf(enclosing(e, "details"), "class") == "way":
			got = append(got, strings.TrimSpace(text(e))+": "+strings.TrimSpace(text(elements(e.Parent, "dd")[0])))
		}
	}
	want := []string{
		"bars: Way to sell|Number", "bars: " + string(lab.Counters), "bars: a script in memory, broken|1,235",
		"lines: Way|50 %|99 %|99.9 %", "lines: redis-lua|1.5 ms|22.0 ms|333 ms",
		"bars: Way to sell|Number", "bars: " + string(lab.Counters), "bars: a script in memory, broken|3.5",
		"books: Books|Rush|Operator|Stood still|Crash|Failover",
	}
	for i, row := range booksInOrder {
		line := "books: " + row[0]
		for first := 101; first <= 501; first += 100 {
			line += "|" + strconv.Itoa(first+i)
			if row[1] != "" {
				line += " " + row[1]
			}
		}
		want = append(want, line)
	}
	want = append(want, "books: Everybody was served in time|no|no|yes|no|no",
		"Claims/s, while there was stock: 1,235", "Refusals/s, afterwards: 5,678", "Until the last unit was sold: 2.0 s",
		"Commands per request: 3.5", "Round trips per request: 0.25", "fastest: 1.0 ms", "99 %: 22.0 ms", "slowest: 12 s",
		"Units the operator added: 61", "Units the operator took back: 62", "Sold after that: 63", "Obeyed: no")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// enclosing returns the element of that name around another one, or an empty one.
func enclosing(n *html.Node, name string) *html.Node {
	for a := range n.Ancestors() {
		if a.Data == name {
			return a
		}
	}
	return &html.Node{}
}

func attributeOf(n *html.Node, key string) string {
	value, _ := attribute(n, key)
	return value
}

// cells are the texts of a row, with their classes where they tell of something wrong.
func cells(row *html.Node) string {
	var all []string
	for _, c := range elements(row, "th", "td") {
		if _, hidden := attribute(c, "aria-hidden"); hidden {
			continue
		}
		said := strings.Join(strings.Fields(text(c)), " ")
		if class := attributeOf(c, "class"); class == "broken" || class == "weak" {
			said += " " + class
		}
		all = append(all, said)
	}
	return strings.Join(all, "|")
}

// TestEveryPromiseIsTold, each by its own name.
func TestEveryPromiseIsTold(t *testing.T) {
	for name, p := range map[string]lab.Promises{
		"a rush":                                {NeverOversells: true},
		"two clicks at the same moment":         {OncePerUser: true},
		"a seller that stands still":            {SurvivesPause: true},
		"a seller that crashes":                 {SurvivesCrash: true},
		"a Redis that fails over":               {SurvivesFailover: true},
		"an operator in the middle of the sale": {ObeysAdmin: true},
	} {
		o := measured()
		o.Promises = p
		seen := text(parse(t, write(t, &report.Report{Ways: []trial.Outcome{o}})))
		_, rest, _ := strings.Cut(seen, "Known to break under: ")
		breaks, _, _ := strings.Cut(rest, ".")
		if !strings.Contains(seen, "Known to withstand: "+name+".") || strings.Contains(breaks, name) || strings.Count(breaks, ";") != 4 {
			t.Errorf("withstands %s alone, and the page says that it breaks under %q", name, breaks)
		}
	}
}

// TestTheTableHasEveryNumberInItsColumn.
func TestTheTableHasEveryNumberInItsColumn(t *testing.T) {
	o := measured()
	o.Pause.Oversold, o.Pause.Phantom, o.Pause.OrdersLost, o.Pause.Stranded = 1, 2, 4, 8
	o.Crash.Oversold, o.Crash.Phantom, o.Crash.OrdersLost, o.Crash.Stranded = 16, 32, 64, 128
	o.Failover.Oversold, o.Failover.Phantom, o.Failover.OrdersLost, o.Failover.Stranded = 256, 512, 1024, 2048
	offered, brokeOff, untried := o, o, trial.Outcome{Name: "never", Problem: "redis is away"}
	offered.Oversold, offered.Undersold, offered.Admin = 0, 0, &trial.Admin{Obeyed: true}
	brokeOff.Pause, brokeOff.Crash, brokeOff.Failover, brokeOff.Admin, brokeOff.Commands = nil, nil, nil, nil, nil
	brokeOff.Problem = "redis has gone"
	var b strings.Builder
	table := report.NewTable(0)
	table.WriteHead(&b)
	for _, row := range []*trial.Outcome{&o, &offered, &brokeOff, &untried} {
		table.WriteRow(&b, row)
	}
	want := []string{
		"over- under- users turned pause: crash: redis: admin claims p50 p99 p99.9 cmds/",
		"granted left sold sold w/ 2 away over lost lost obeyed per s ms ms ms claim",
		"redis-lua 102 104 105 110 107 111 3 192 3072 no 1234 1.5 22.0 333 3.5",
		"redis-lua 102 104 (106) · 107 111 3 192 3072 yes 1234 1.5 22.0 333 3.5",
		"redis-lua 102 104 105 110 107 111 – – – – 1234 1.5 22.0 333 – redis has gone",
		"never redis is away",
	}
	var got []string
	for line := range strings.Lines(b.String()) {
		got = append(got, strings.Join(strings.Fields(line), " "))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
