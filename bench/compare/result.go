package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"text/tabwriter"
	"time"
)

// Result is a whole run, as it is kept in bench/results.
type Result struct {
	At              time.Time `json:"at"`
	Command         string    `json:"command"`
	Machine         Machine   `json:"machine"`
	Durability      string    `json:"durability"`
	Rounds          int       `json:"rounds"`
	MeasuredSeconds float64   `json:"measured_seconds"` // of each measurement
	WarmupSeconds   float64   `json:"warmup_seconds"`
	Quick           bool      `json:"quick,omitempty"`
	Seconds         float64   `json:"seconds"`           // of the whole run
	Strangers       float64   `json:"strangers_percent"` // median over the samples
	Rows            []Row     `json:"rows"`
	Samples         []Sample  `json:"samples"`
}

// writeTable writes the rows for a terminal.
func (r *Result) writeTable(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintln(t, "what\tmeasured\t\ttarget\t\t")
	for _, row := range r.Rows {
		fmt.Fprintf(t, "%s\t%s %s\t%s\t%s\t%s\n", row.What, number(row.Value), row.Unit, row.Detail, row.Target, row.Verdict)
	}
	if r.Strangers > noisy {
		fmt.Fprintf(t, "\nDISTURBED: %.0f %% of the processors went to other programs; repeat this on a quiet machine.\n", r.Strangers)
	}
	return t.Flush()
}

// save writes the JSON and the page of the latest run.
func (b *bench) save() error {
	if b.settings.out == "" {
		return nil
	}
	if err := os.MkdirAll(b.settings.out, 0o755); err != nil {
		return err
	}
	encoded, err := json.MarshalIndent(b.result, "", " ")
	if err != nil {
		return err
	}
	name := b.result.At.Format("2006-01-02-1504") + ".json"
	if err := os.WriteFile(filepath.Join(b.settings.out, name), append(encoded, '\n'), 0o644); err != nil {
		return err
	}
	page := filepath.Join(b.settings.out, "README.md")
	fmt.Fprintf(b.out, "\nwritten to %s and %s\n", filepath.Join(b.settings.out, name), page)
	return os.WriteFile(page, b.result.page(name), 0o644)
}

// page is the table as Markdown, with all that one needs to repeat it.
func (r *Result) page(file string) []byte {
	var p bytes.Buffer
	m := &r.Machine
	fmt.Fprintf(&p, "# Measured\n\nThe latest run of `make bench`, on %s. Every figure is the median of %d interleaved rounds of %.0f s,\n"+
		"after a warm-up of %.0f s, each on a fresh server; load and server share the machine. All samples: [%s](%s).\n\n",
		r.At.Format("2 January 2006"), r.Rounds, r.MeasuredSeconds, r.WarmupSeconds, file, file)
	fmt.Fprintf(&p, "| | |\n|---|---|\n| machine | %s, %d cores, %.1f GiB |\n| system | %s, %s, file system %s |\n| durability of Rushgate | %s |\n"+
		"| commit | %s |\n| command | `%s` |\n"+
		"| others | %.0f %% of the processors went to neither server nor load (median) |\n\n", m.CPU, m.Cores, m.MemGiB, m.System, m.Go, m.Disk, r.Durability, m.Commit, r.Command, r.Strangers)
	p.WriteString("| what | measured | | target | |\n|---|---:|---|---|---|\n")
	for _, row := range r.Rows {
		fmt.Fprintf(&p, "| %s | %s %s | %s | %s | %s |\n", row.What, number(row.Value), row.Unit, row.Detail, row.Target, row.Verdict)
	}
	p.WriteString(notes)
	return p.Bytes()
}

const notes = `
How to read it:

- A claim counts as durable when its answer came after the commit. After every measurement the database is read with
  plain SQL: a run in which an acknowledged claim is missing, or a user has two, or more is taken than there is, is void.
- *Empty handler* is net/http that reads the body and answers a fixed document. *Redis script* is net/http, go-redis and
  one script for each claim, on a Redis without persistence. *SQLite row by row* is one transaction for each claim.
- *Rushgate cluster* is one node, a Redis without persistence and a PostgreSQL that syncs every commit, all on this
  machine: it records what the Redis script does not. Seconds without service are in [takeover.txt](takeover.txt).
- Users come in order unless the row says random; every request is one of a different user.
- CPU is the processor time of the server's processes (Redis included), from the kernel's accounting, for each answer.
- Latency is open loop: from the moment at which a request was due, whenever it could be sent.
`
