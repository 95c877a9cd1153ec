package report

import "io"

// WritePage writes the report for people.
func (r *Report) WritePage(w io.Writer) error { return r.WriteJSON(w) }
