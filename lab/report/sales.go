package report

import "rushgate/lab/trial"

// ledger is the books of all sales of one way, side by side.
type ledger struct {
	Sales []string
	Rows  []entry
}

type entry struct {
	Label string
	Cells []figure
}

// figure is one number, marked with a grade if it tells of something wrong.
type figure struct {
	Text  string
	Grade grade
}

// Ledger returns the books of all sales that there were.
func (w *way) Ledger() ledger {
	var l ledger
	var all []*trial.Books
	add := func(name string, b *trial.Books) {
		if b != nil && b.Total > 0 {
			l.Sales, all = append(l.Sales, name), append(all, b)
		}
	}
	add("Rush", &w.Books)
	if w.Admin != nil {
		add("Operator", &w.Admin.Books)
	}
	add("Stood still", w.Pause)
	add("Crash", w.Crash)
	add("Failover", w.Failover)
	if len(all) == 0 {
		return l
	}
	for _, row := range bookRows {
		e := entry{Label: row.label}
		for _, b := range all {
			f := figure{Text: grouped(row.number(b))}
			if row.number(b) > 0 {
				f.Grade = row.wrong
			}
			e.Cells = append(e.Cells, f)
		}
		l.Rows = append(l.Rows, e)
	}
	e := entry{Label: "Everybody was served in time"}
	for _, b := range all {
		e.Cells = append(e.Cells, figure{Text: yes(b.Finished)})
	}
	l.Rows = append(l.Rows, e)
	return l
}

// bookRows are the numbers of a sale.
var bookRows = []struct {
	label  string
	number func(*trial.Books) int
	wrong  grade // if there are any
}{
	{"Units there were", func(b *trial.Books) int { return b.Total }, ""},
	{"Buyers who heard yes", func(b *trial.Books) int { return b.Granted }, ""},
	{"Orders in the books", func(b *trial.Books) int { return b.Orders }, ""},
	{"Stock left, by the books", func(b *trial.Books) int { return b.Left }, ""},
	{"Oversold", func(b *trial.Books) int { return b.Oversold }, broken},
	{"On offer and not there", func(b *trial.Books) int { return b.Phantom }, broken},
	{"Users with two", func(b *trial.Books) int { return b.Duplicates }, broken},
	{"Heard yes, not in the books", func(b *trial.Books) int { return b.OrdersLost }, broken},
	{"Units lost", func(b *trial.Books) int { return b.Stranded }, broken},
	{"Undersold", func(b *trial.Books) int { return b.Undersold }, weak},
	{"Turned away with stock left", func(b *trial.Books) int { return b.Contended }, weak},
	{"Never heard anything", func(b *trial.Books) int { return b.Unanswered }, ""},
}

// Operated tells what the operator did, and what came of it.
func (w *way) Operated() []labelled {
	if w.Admin == nil {
		return nil
	}
	return []labelled{
		{"Units the operator added", grouped(w.Admin.Restocked)},
		{"Units the operator took back", grouped(w.Admin.Cleared)},
		{"Sold after that", grouped(w.Admin.After)},
		{"Obeyed", yes(w.Admin.Obeyed)},
	}
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
