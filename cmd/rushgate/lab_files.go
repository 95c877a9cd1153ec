package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"rushgate/lab/report"
)

// reports are the files that --out asked for. They are opened before the lab
// begins: who mistyped a folder hears of it at once, not after five minutes.
type reports []*os.File

func openReports(names []string) (reports, error) {
	var all reports
	for _, name := range names {
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE, 0o644)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("--out: %w", err), all.close())
		}
		all = append(all, f)
	}
	return all, nil
}

// write writes the report into all of them.
func (all reports) write(r *report.Report) error {
	var failures error
	for _, f := range all {
		err := f.Truncate(0)
		switch {
		case err != nil:
		case strings.HasSuffix(f.Name(), ".json"):
			err = r.WriteJSON(f)
		default:
			err = r.WritePage(f)
		}
		if err != nil {
			failures = errors.Join(failures, fmt.Errorf("--out %s: %w", f.Name(), err))
		}
	}
	return errors.Join(failures, all.close())
}

func (all reports) close() (err error) {
	for _, f := range all {
		err = errors.Join(err, f.Close())
	}
	return err
}
