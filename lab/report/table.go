package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"

	"rushgate/lab/trial"
)

// column is a column of the table: a head of two lines, and what to write under
// it.
type column struct {
	width int
	head  [2]string
	cell  func(*trial.Outcome) string
	// dispensable: the greatest is the first to go where there is no room; 0 stays.
	dispensable int
}

// Table is the table for a terminal.
type Table struct {
	columns []column
	Hidden  int // columns for which there is no room
}

// NewTable returns a table that is no wider than so many letters, if it can be;
// 0 is as wide as it likes.
func NewTable(width int) Table {
	t := Table{columns: columns()}
	for width > 0 && t.width() > width {
		first := slices.MaxFunc(t.columns, func(a, b column) int { return cmp.Compare(a.dispensable, b.dispensable) })
		if first.dispensable == 0 {
			break
		}
		t.columns = slices.DeleteFunc(t.columns, func(c column) bool { return c.dispensable == first.dispensable })
		t.Hidden++
	}
	return t
}

func (t Table) width() int {
	sum := nameWidth
	for _, c := range t.columns {
		sum += c.width
	}
	return sum
}

func columns() []column {
	return []column{
		{8, [2]string{"", "granted"}, func(o *trial.Outcome) string { return count(o.Granted) }, 1},
		{6, [2]string{"", "left"}, func(o *trial.Outcome) string { return count(o.Left) }, 4},
		{6, [2]string{"over-", "sold"}, overCell, 0},
		{7, [2]string{"under-", "sold"}, func(o *trial.Outcome) string { return fault(o.Undersold) }, 2},
		{6, [2]string{"users", "w/ 2"}, func(o *trial.Outcome) string { return fault(o.Duplicates) }, 0},
		{7, [2]string{"turned", "away"}, func(o *trial.Outcome) string { return fault(o.Contended) }, 0},
		{7, [2]string{"pause:", "over"}, func(o *trial.Outcome) string { return ofBooks(o.Pause, (*trial.Books).Excess) }, 0},
		{7, [2]string{"crash:", "lost"}, func(o *trial.Outcome) string { return ofBooks(o.Crash, (*trial.Books).Lost) }, 0},
		{7, [2]string{"redis:", "lost"}, func(o *trial.Outcome) string { return ofBooks(o.Failover, (*trial.Books).Lost) }, 0},
		{7, [2]string{"admin", "obeyed"}, obeyed, 0},
		{8, [2]string{"claims", "per s"}, func(o *trial.Outcome) string { return count(int(o.ClaimsPerSecond)) }, 0},
		{7, [2]string{"p50", "ms"}, func(o *trial.Outcome) string { return millis(o.P50) }, 6},
		{7, [2]string{"p99", "ms"}, func(o *trial.Outcome) string { return millis(o.P99) }, 3},
		{7, [2]string{"p99.9", "ms"}, func(o *trial.Outcome) string { return millis(o.P999) }, 5},
		{7, [2]string{"cmds/", "claim"}, func(o *trial.Outcome) string { return optional(o.Commands) }, 7},
	}
}

// nameWidth is room for the longest name of a way.
const nameWidth = 24

// WriteHead writes the head of the table.
func (t Table) WriteHead(w io.Writer) {
	for line := range 2 {
		fmt.Fprintf(w, "%-*s", nameWidth, "")
		for _, c := range t.columns {
			fmt.Fprintf(w, " %*s", c.width-1, c.head[line])
		}
		fmt.Fprintln(w)
	}
}

// WriteRow writes one way, as soon as it is known.
func (t Table) WriteRow(w io.Writer, o *trial.Outcome) {
	fmt.Fprintf(w, "%-*s", nameWidth, o.Name)
	if o.Problem != "" && o.Granted == 0 {
		fmt.Fprintf(w, "  %s\n", o.Problem)
		return
	}
	for _, c := range t.columns {
		fmt.Fprintf(w, " %*s", c.width-1, c.cell(o))
	}
	if o.Problem != "" {
		fmt.Fprintf(w, "  %s", o.Problem)
	}
	fmt.Fprintln(w)
}

func count(n int) string { return strconv.Itoa(n) }

// fault writes nothing where nothing is wrong, so that what is wrong is seen.
func fault(n int) string {
	if n == 0 {
		return "·"
	}
	return strconv.Itoa(n)
}

// overCell shows units that are still in a stock which has them no more in
// brackets, where the time was over before they could be sold.
func overCell(o *trial.Outcome) string {
	if o.Oversold == 0 && o.Phantom > 0 {
		return fmt.Sprintf("(%d)", o.Phantom)
	}
	return fault(o.Oversold)
}

func ofBooks(b *trial.Books, number func(*trial.Books) int) string {
	if b == nil {
		return "–"
	}
	return fault(number(b))
}

func obeyed(o *trial.Outcome) string {
	switch {
	case o.Admin == nil:
		return "–"
	case o.Admin.Obeyed:
		return "yes"
	}
	return "no"
}

func millis(ms float64) string {
	if ms >= 100 {
		return fmt.Sprintf("%.0f", ms)
	}
	return fmt.Sprintf("%.1f", ms)
}

func optional(n *float64) string {
	if n == nil {
		return "–"
	}
	return fmt.Sprintf("%.1f", *n)
}
