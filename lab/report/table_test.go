package report

import (
	"strings"
	"testing"
	"unicode/utf8"

	"rushgate/lab/trial"
)

// A table fits the terminal, by leaving out what is least needed, and great
// numbers do not run into each other.
func TestTheTableFits(t *testing.T) {
	million := trial.Books{Granted: 1_000_000, Left: 1_000_000, Oversold: 1_000_000, Undersold: 1_000_000, Duplicates: 1_000_000, Contended: 1_000_000}
	o := &trial.Outcome{Name: "sql-where-stock-postgres", Books: million, Pause: &million, Crash: &million, Failover: &million}
	for width, hidden := range map[int]int{0: 0, 200: 0, 100: 5, 80: 7, 20: 7} {
		var b strings.Builder
		table := NewTable(width)
		table.WriteHead(&b)
		table.WriteRow(&b, &trial.Outcome{Name: o.Name})
		if table.Hidden != hidden {
			t.Errorf("in a width of %d, %d columns are hidden, not %d", width, table.Hidden, hidden)
		}
		for line := range strings.Lines(b.String()) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); width >= 80 && n > width {
				t.Errorf("in a width of %d, a line has %d: %s", width, n, line)
			}
		}
	}
	var b strings.Builder
	NewTable(0).WriteRow(&b, o)
	if !strings.Contains(b.String(), " 1000000 1000000 1000000 1000000 1000000 1000000") {
		t.Errorf("numbers run into each other: %s", b.String())
	}
}
