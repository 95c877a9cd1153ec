// Package report shows what came out of a lab: as a table, as JSON, and as a
// page that stands alone.
package report

import (
	"encoding/json"
	"io"
	"time"

	"rushgate/lab/trial"
)

// Report is what came out of one run of the lab.
type Report struct {
	Made     time.Time `json:"made"`
	Version  string    `json:"version"`  // of Rushgate
	Hardware string    `json:"hardware"` // on which everything ran, the crowd too
	Seconds  float64   `json:"seconds"`  // that the run took

	Plan trial.Plan `json:"plan"`
	// Partial: the run was interrupted, or something could not be tried.
	Partial bool `json:"partial"`
	// Notes say what was left out, and why.
	Notes []string `json:"notes"`

	Ways []trial.Outcome `json:"ways"`
}

// WriteJSON writes the report for programs.
func (r *Report) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(r)
}
