package report

import "io"

// WritePage writes the report for people.
func (r *Report) WritePage(w io.Writer) error {
	_, err := io.WriteString(w, "<!doctype html>")
	return err
}
